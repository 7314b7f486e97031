/// How a finished download gets to where the caller wants it: a value.
struct DownloadMove: Equatable, Sendable {
  enum Occupant: Sendable {
    case nobody
    /// A file, a link or the like: something that a name can be taken from.
    case file
    case directory
    /// The download itself: the closure gave back the temporary URL.
    case itself
  }

  enum Refusal: Equatable, Sendable {
    /// There is a file, and `removePreviousFile` was not given.
    case exists
    /// There is a directory; nothing removes those.
    case isDirectory
    /// Its directory is not there, and `createIntermediateDirectories` was not given.
    case noDirectory
  }

  enum Plan: Equatable, Sendable {
    case stay
    case refuse(Refusal)
    /// - Parameter replacing: Whether the new name may be another file's.
    case move(makingDirectories: Bool, replacing: Bool)
  }

  let occupant: Occupant
  let hasDirectory: Bool

  /// What to do where missing directories may be made, and a file be replaced.
  func plan(makingDirectories: Bool, replacing: Bool) -> Plan {
    switch occupant {
    case .itself: .stay
    case .directory: .refuse(.isDirectory)
    case .file where !replacing: .refuse(.exists)
    case .file, .nobody:
      hasDirectory || makingDirectories
        ? .move(makingDirectories: !hasDirectory, replacing: replacing) : .refuse(.noDirectory)
    }
  }
}

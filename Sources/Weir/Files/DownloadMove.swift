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

  func plan(_ options: DownloadRequest.Options) -> Plan {
    let replaces = options.contains(.removePreviousFile)
    switch occupant {
    case .itself: return .stay
    case .directory: return .refuse(.isDirectory)
    case .file where !replaces: return .refuse(.exists)
    case .file, .nobody: break
    }
    let makes = options.contains(.createIntermediateDirectories)
    guard hasDirectory || makes else { return .refuse(.noDirectory) }
    return .move(makingDirectories: !hasDirectory, replacing: replaces)
  }
}

/// Decides how a finished download gets to the place that the caller wants; a value.
struct DownloadMove: Equatable, Sendable {
  enum Occupant: Sendable {
    case nobody
    /// A file, a link or another entry that a rename can replace.
    case file
    case directory
    /// The download itself: the closure returned the temporary URL.
    case itself
  }

  enum Refusal: Equatable, Sendable {
    /// There is a file, and the option `removePreviousFile` is off.
    case exists
    /// There is a directory, which no option removes.
    case isDirectory
    /// The parent directory is missing, and the option `createIntermediateDirectories` is off.
    case noDirectory
  }

  enum Plan: Equatable, Sendable {
    case stay
    case refuse(Refusal)
    /// - Parameter replacing: Whether the move may replace another file.
    case move(makingDirectories: Bool, replacing: Bool)
  }

  let occupant: Occupant
  let hasDirectory: Bool

  /// The plan, given whether missing directories may be made and whether a file may be replaced.
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

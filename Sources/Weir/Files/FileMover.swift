import Glibc
import WeirIO

/// Moves a finished download; performs what ``DownloadMove`` decides. Runs on a worker.
///
/// The target appears whole or not at all, as it comes by a rename. If the bytes have to be copied to another file
/// system, they are copied to a temporary name first.
struct FileMover {
  private let source: String
  private let target: String
  private let destination: URL

  init(_ source: String, _ destination: URL) {
    self.source = source
    self.destination = destination
    target = destination.path
  }

  /// Returns the target's path.
  func move(makingDirectories: Bool, replacing: Bool) throws(FileProblem) -> String {
    guard destination.isFileURL, !target.isEmpty, !target.utf8.contains(0) else {
      throw FileProblem(target, .invalidArgument, "the destination is not a file URL with a path: \(destination)")
    }
    let move = DownloadMove(occupant: try occupant(), hasDirectory: hasDirectory)
    switch move.plan(makingDirectories: makingDirectories, replacing: replacing) {
    case .stay: break
    case .refuse(let refusal): throw problem(refusal)
    case .move(let makesDirectories, let replacing):
      if makesDirectories { try makeDirectories() }
      try place(replacing: replacing)
    }
    return target
  }

  // MARK: The present state

  private var parent: String { (target as NSString).deletingLastPathComponent }

  private func occupant() throws(FileProblem) -> DownloadMove.Occupant {
    do throws(Errno) {
      let status = try FileSystem.status(ofFile: target)
      if status.kind == .directory { return .directory }
      return try FileSystem.status(ofFile: source).identity == status.identity ? .itself : .file
    } catch {
      switch error.rawValue {
      case ENOENT, ENOTDIR: return .nobody
      default: throw FileProblem(target, error)
      }
    }
  }

  private var hasDirectory: Bool {
    let parent = parent.isEmpty ? "." : parent
    return (try? FileSystem.status(ofFile: parent, followsLink: true))?.kind == .directory
  }

  private func problem(_ refusal: DownloadMove.Refusal) -> FileProblem {
    switch refusal {
    case .exists: FileProblem(target, .exists, "there is a file already; the option removePreviousFile replaces it")
    case .isDirectory: FileProblem(target, .isDirectory, "there is a directory of that name")
    case .noDirectory:
      FileProblem(target, .noSuchFile, "its directory is missing; the option createIntermediateDirectories makes it")
    }
  }

  // MARK: The move

  private func makeDirectories() throws(FileProblem) {
    do {
      try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
    } catch {
      let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
      let code = underlying?.domain == NSPOSIXErrorDomain ? CInt(truncatingIfNeeded: underlying?.code ?? 0) : EIO
      throw FileProblem(parent, Errno(rawValue: code), "its directory can't be made: \(error.localizedDescription)")
    }
  }

  private func place(replacing: Bool) throws(FileProblem) {
    do throws(Errno) {
      do throws(Errno) {
        try FileSystem.rename(source, to: target, replacing: replacing)
      } catch {
        guard error == .otherFileSystem else { throw error }
        try copy(replacing: replacing)
      }
    } catch {
      throw error == .exists ? problem(.exists) : FileProblem(target, error)
    }
  }

  /// Copies by way of a file in the target's directory, whose name can't be mistaken for the target.
  private func copy(replacing: Bool) throws(Errno) {
    let parent = parent.isEmpty ? "." : parent
    let name = "\(parent)/.weir-\(String(UInt64.random(in: 0 ... .max), radix: 16)).part"
    let descriptor = try FileSystem.open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: 0o600)
    do throws(Errno) {
      try fill(descriptor)
      try FileSystem.rename(name, to: target, replacing: replacing)
    } catch {
      try? FileSystem.remove(name)
      throw error
    }
    try? FileSystem.remove(source)
  }

  /// Copies the source and closes the copy.
  private func fill(_ descriptor: CInt) throws(Errno) {
    do throws(Errno) {
      let file = try FileSystem.open(source, O_RDONLY | O_NOFOLLOW)
      defer { FileSystem.close(file) }
      try FileSystem.copy(from: file, to: descriptor)
    } catch {
      FileSystem.close(descriptor)
      throw error
    }
    try FileSystem.closeWritten(descriptor)
  }
}

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

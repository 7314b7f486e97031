import Glibc
import Synchronization
import WeirIO

/// What processes have left behind: of those that ended in the middle nobody knows any more, and the disk would fill up.
extension PrivateDirectory {
  /// So many seconds after its last byte a file that nobody holds is taken for one that nobody will use.
  private static let lifetime: Int64 = 7 * 86_400
  /// Paths that this process has swept: once is enough, and it may take long.
  private static let swept = Mutex<Set<String>>([])

  /// Removes files that are too old, and that nobody has locked, when the process first comes here.
  ///
  /// - Parameters:
  ///   - descriptor: of this directory.
  ///   - isOurs: Whether a file of that name may be removed.
  func sweepOnce(_ descriptor: CInt, _ isOurs: (String) -> Bool) {
    guard Self.swept.withLock({ $0.insert(path).inserted }) else { return }
    let now = Int64(Date().timeIntervalSince1970)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    for name in names where isOurs(name) {
      guard let file = try? FileSystem.open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, in: descriptor) else { continue }
      defer { FileSystem.close(file) }
      guard let status = try? FileSystem.status(of: file), status.kind == .regular, status.owner == geteuid(),
        status.modified < now - Self.lifetime, (try? FileSystem.lock(file)) != nil
      else { continue }
      try? FileSystem.remove(name, in: descriptor)
    }
  }
}

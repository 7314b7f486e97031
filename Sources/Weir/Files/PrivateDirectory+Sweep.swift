import Glibc
import Synchronization
import WeirIO

/// Removes files left behind by processes that ended during a download; no process knows them any more, and they would
/// fill up the disk.
extension PrivateDirectory {
  /// An unlocked file counts as abandoned this many seconds after its last write.
  private static let lifetime: Int64 = 7 * 86_400
  /// Paths that this process has swept: once is enough, and it may take long.
  private static let swept = Mutex<Set<String>>([])

  /// Removes files that are too old and unlocked, on the process's first use of the directory.
  ///
  /// - Parameters:
  ///   - descriptor: The directory's descriptor.
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

import Glibc

/// The marks by which a changed file is recognised: another file at its path, another content, or other rights. Symbolic
/// links are followed.
package struct FileMark: Hashable, Sendable {
  /// Finds the mark of a file. It may take as long as the file system keeps its callers waiting.
  package typealias Reader = @Sendable (_ path: String) -> FileMark?

  private let device: UInt64
  private let inode: UInt64
  private let size: Int64
  private let seconds: Int64
  private let nanoseconds: Int64
  private let statusSeconds: Int64
  private let statusNanoseconds: Int64

  /// Nil if there is no such file.
  package init?(ofFile path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    seconds = Int64(status.st_mtim.tv_sec)
    nanoseconds = Int64(status.st_mtim.tv_nsec)
    // A file that could not be read may be readable now, and its time may have been set back.
    statusSeconds = Int64(status.st_ctim.tv_sec)
    statusNanoseconds = Int64(status.st_ctim.tv_nsec)
  }
}

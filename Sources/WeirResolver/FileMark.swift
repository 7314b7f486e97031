// The compiler finds the members of `timespec` in the first C module that includes its header.
internal import CAres
internal import Glibc

/// The marks by which a changed file is recognised: another file at its path, or another content. Symbolic links are
/// followed.
struct FileMark: Hashable {
  private let device: UInt
  private let inode: UInt
  private let size: Int
  private let seconds: Int
  private let nanoseconds: Int

  /// Nil if there is no such file.
  init?(ofFile path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt(status.st_dev)
    inode = UInt(status.st_ino)
    size = Int(status.st_size)
    seconds = status.st_mtim.tv_sec
    nanoseconds = status.st_mtim.tv_nsec
  }
}

internal import Glibc

/// The file at a Unix socket's path, told by device and inode from others that take its place.
///
/// While a socket is bound to it, or was seen to be, its inode is given to no other file.
package struct SocketFile: Sendable, Equatable {
  package let path: String
  private let device: dev_t
  private let inode: ino_t

  /// Nil where there is none, or a file of another kind: that one is somebody's.
  package init?(at path: String) {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    self.path = path
    (device, inode) = (status.st_dev, status.st_ino)
  }

  /// Removes it, unless another one has its path.
  package func remove() {
    if Self(at: path) == self { unlink(path) }
  }
}

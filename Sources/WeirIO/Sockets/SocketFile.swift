internal import Glibc

/// The file at a Unix socket's path. Device and inode tell it from other files that take its place.
///
/// While a socket is bound to the file, no other file gets its inode.
package struct SocketFile: Sendable, Equatable {
  package let path: String
  private let device: dev_t
  private let inode: ino_t

  /// Nil if there is no file, or if the file is not a socket: then it belongs to another program.
  package init?(at path: String) {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    self.path = path
    (device, inode) = (status.st_dev, status.st_ino)
  }

  /// Removes the file, unless another file has taken its path.
  package func remove() {
    if Self(at: path) == self { unlink(path) }
  }
}

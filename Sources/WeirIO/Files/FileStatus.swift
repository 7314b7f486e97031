import Glibc

/// The system's description of a file (inode(7)).
package struct FileStatus: Sendable, Hashable {
  /// Device and inode. They are the same for two names of one file, and no other file has them while that file exists.
  package struct Identity: Sendable, Hashable {
    package let device: UInt64
    package let inode: UInt64
  }

  package enum Kind: Sendable {
    case regular, directory, symbolicLink, other
  }

  package let kind: Kind
  package let identity: Identity
  package let size: Int64
  /// The time of the last change to the content, in seconds since 1970.
  package let modified: Int64
  package let owner: UInt32
  /// The permission bits, without the bits for the file's kind.
  package let permissions: UInt32

  init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .directory
      case S_IFLNK: .symbolicLink
      default: .other
      }
    identity = Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    size = Int64(status.st_size)
    modified = Int64(status.st_mtim.tv_sec)
    owner = status.st_uid
    permissions = status.st_mode & 0o7777
  }

  /// Throws unless the file is a regular one.
  package func expectRegular() throws(Errno) {
    switch kind {
    case .regular: break
    case .directory: throw .isDirectory
    case .symbolicLink, .other: throw .notRegular
    }
  }
}

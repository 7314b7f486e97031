import Glibc

/// The system's description of a file (inode(7)).
package struct FileStatus: Sendable, Hashable {
  /// Device and inode. They are the same for two names of one file, and no other file has them while that file exists.
  package struct Identity: Sendable, Hashable {
    package let device: UInt64
    package let inode: UInt64

    init(_ status: stat) {
      device = UInt64(status.st_dev)
      inode = UInt64(status.st_ino)
    }
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
    identity = Identity(status)
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

/// The marks by which a changed file is recognised: another file at its path, another content, or other rights. Symbolic
/// links are followed.
package struct FileMark: Hashable, Sendable {
  /// Finds the mark of a file. It may take as long as the file system keeps its callers waiting.
  package typealias Reader = @Sendable (_ path: String) -> FileMark?

  private let identity: FileStatus.Identity
  private let size: Int64
  private let modified: Duration
  private let statusChanged: Duration

  /// Nil if there is no such file.
  package init?(ofFile path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    identity = FileStatus.Identity(status)
    size = Int64(status.st_size)
    modified = Self.duration(status.st_mtim)
    // A file that could not be read may be readable now, and its time may have been set back.
    statusChanged = Self.duration(status.st_ctim)
  }

  private static func duration(_ time: timespec) -> Duration { .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec) }
}

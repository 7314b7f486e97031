import Glibc

/// A directory of this user's own, in which no other user can exchange the files. All calls are for workers.
///
/// In a directory that all users share, such as that of temporary files, another user may have made one of this name
/// first.
package struct PrivateDirectory: Sendable {
  package let path: String
  /// The permission bits that other users must not have on the directory.
  private let forbidden: UInt32

  /// - Parameter isReadable: Whether other users may list it and read its files.
  package init(_ path: String, isReadable: Bool = false) {
    self.path = path
    forbidden = isReadable ? 0o022 : 0o077
  }

  /// Makes the directory if it is missing; throws `Errno.notPermitted` when others own it or have too many permissions.
  package func make() throws(Errno) {
    FileSystem.close(try open(makingIt: true))
  }

  /// A descriptor of the directory, which the caller closes.
  package func open(makingIt: Bool) throws(Errno) -> CInt {
    if makingIt {
      do { try FileSystem.makeDirectory(path, permissions: 0o700) } catch .exists {}
    }
    let descriptor = try FileSystem.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    do throws(Errno) {
      let status = try FileSystem.status(of: descriptor)
      guard status.owner == geteuid(), status.permissions & forbidden == 0 else { throw Errno.notPermitted }
      return descriptor
    } catch {
      FileSystem.close(descriptor)
      throw error
    }
  }
}

import CLinux
import Glibc

/// The system's calls on files, their failures typed. But for `readCached`, each may wait for a disk: they are for workers, not
/// for a loop.
package enum FileSystem {
  /// A descriptor, closed in programs that this one starts.
  package static func open(
    _ path: String, _ flags: CInt, permissions: UInt32 = 0, in directory: CInt = AT_FDCWD
  ) throws(Errno) -> CInt {
    try systemCall { openat(directory, path, flags | O_CLOEXEC, permissions) }
  }

  /// Opens a regular file for reading, at once or not at all: a FIFO, whose reader waits for a writer, may have come in the
  /// place of a file that was looked at.
  package static func openRegular(_ path: String) throws(Errno) -> (descriptor: CInt, size: Int64) {
    let descriptor = try open(path, O_RDONLY | O_NONBLOCK)
    do throws(Errno) {
      let status = try status(of: descriptor)
      try status.expectRegular()
      return (descriptor, status.size)
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// Not called again after a signal: the descriptor is gone then (close(2)).
  package static func close(_ descriptor: CInt) {
    _ = Glibc.close(descriptor)
  }

  /// The same for a file that was written: some file systems tell only now that there was no space for it.
  package static func closeWritten(_ descriptor: CInt) throws(Errno) {
    guard Glibc.close(descriptor) == -1 else { return }
    let error = Errno.current
    if error != .interrupted { throw error }
  }

  package static func status(of descriptor: CInt) throws(Errno) -> FileStatus {
    var status = stat()
    _ = try systemCall { fstat(descriptor, &status) }
    return FileStatus(status)
  }

  /// Of a symbolic link itself, unless it is to be followed.
  package static func status(
    ofFile path: String, in directory: CInt = AT_FDCWD, followsLink: Bool = false
  ) throws(Errno) -> FileStatus {
    var status = stat()
    _ = try systemCall { fstatat(directory, path, &status, followsLink ? 0 : AT_SYMLINK_NOFOLLOW) }
    return FileStatus(status)
  }

  /// Reads what the system has in memory of a file, without waiting for anything; nil when that is not so, or not known, or
  /// when there is anything else to say.
  package static func readCached(
    _ descriptor: CInt, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) -> Int? {
    var piece = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
    let withoutWaiting: CInt = 8
    let count = preadv2(descriptor, &piece, 1, off_t(offset), withoutWaiting)
    return count > 0 ? count : nil
  }

  /// Writes all of it where the descriptor is.
  package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) throws(Errno) {
    var written = 0
    while written < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
      let count = try systemCall { Glibc.write(descriptor, rest.baseAddress, rest.count) }
      // No error and no progress: nothing that POSIX knows; not to be repeated for ever.
      guard count > 0 else { throw Errno(rawValue: EIO) }
      written += count
    }
  }

  /// Copies all that is in a file from its beginning to where the other descriptor is.
  package static func copy(from source: CInt, to target: CInt) throws(Errno) {
    let size = 256 << 10
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
    defer { buffer.deallocate() }
    var offset: off_t = 0
    while true {
      let count = try systemCall { pread(source, buffer.baseAddress, size, offset) }
      if count == 0 { return }
      try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: target)
      offset += off_t(count)
    }
  }

  package static func truncate(_ descriptor: CInt, to size: Int64) throws(Errno) {
    _ = try systemCall { ftruncate(descriptor, off_t(size)) }
  }

  /// Moves the descriptor to the file's end.
  package static func seekToEnd(_ descriptor: CInt) throws(Errno) {
    _ = try systemCall { lseek(descriptor, 0, SEEK_END) }
  }

  /// Takes the file for oneself until the descriptor is closed; at once or not at all.
  package static func lock(_ descriptor: CInt) throws(Errno) {
    _ = try systemCall { flock(descriptor, LOCK_EX | LOCK_NB) }
  }

  package static func makeDirectory(_ path: String, permissions: UInt32) throws(Errno) {
    _ = try systemCall { mkdir(path, permissions) }
  }

  package static func remove(_ path: String, in directory: CInt = AT_FDCWD) throws(Errno) {
    _ = try systemCall { unlinkat(directory, path, 0) }
  }

  /// Gives a file another name at once: whoever looks finds the old file there or the new one.
  ///
  /// - Parameter replacing: Whether another file of that name goes; else it is a failure (`EEXIST`).
  package static func rename(_ path: String, to target: String, replacing: Bool) throws(Errno) {
    if replacing {
      _ = try systemCall { Glibc.rename(path, target) }
      return
    }
    do {
      let noReplace: CUnsignedInt = 1
      _ = try systemCall { renameat2(AT_FDCWD, path, AT_FDCWD, target, noReplace) }
    } catch  where error.rawValue == EINVAL || error.rawValue == ENOSYS {
      // The file system can't: a second name is as good, which is not made where there is one.
      _ = try systemCall { link(path, target) }
      try remove(path)
    }
  }
}

extension Errno {
  package static var exists: Errno { Errno(rawValue: EEXIST) }
  package static var noSuchFile: Errno { Errno(rawValue: ENOENT) }
  package static var isDirectory: Errno { Errno(rawValue: EISDIR) }
  /// Neither file nor directory: a FIFO, a socket, a device.
  package static var notRegular: Errno { Errno(rawValue: ESPIPE) }
  package static var notPermitted: Errno { Errno(rawValue: EPERM) }
  package static var permissionDenied: Errno { Errno(rawValue: EACCES) }
  package static var noSpace: Errno { Errno(rawValue: ENOSPC) }
  package static var otherFileSystem: Errno { Errno(rawValue: EXDEV) }
  package static var readOnlyFileSystem: Errno { Errno(rawValue: EROFS) }
  package static var nameTooLong: Errno { Errno(rawValue: ENAMETOOLONG) }
  package static var quotaExceeded: Errno { Errno(rawValue: EDQUOT) }
}

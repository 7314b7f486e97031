import CLinux
import Glibc

/// The system's calls on files, with typed failures. Each but `readCached` may wait for a disk, so they are for workers
/// and not for a loop.
package enum FileSystem {
  /// Opens a file. Its descriptor is closed in programs that this one starts.
  package static func open(
    _ path: String, _ flags: CInt, permissions: UInt32 = 0, in directory: CInt = AT_FDCWD
  ) throws(Errno) -> CInt {
    try systemCall { openat(directory, path, flags | O_CLOEXEC, permissions) }
  }

  /// Opens a regular file for reading, at once or not at all. A FIFO, whose reader waits for a writer, may have
  /// replaced the file since it was looked at.
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

  /// Closes the descriptor, and doesn't repeat the call after a signal: the descriptor is gone then (close(2)).
  package static func close(_ descriptor: CInt) {
    _ = Glibc.close(descriptor)
  }

  /// Closes the descriptor of a file that was written. Some file systems report only now that there was no space for
  /// it.
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

  /// The status of a file; of a symbolic link itself unless `followsLink` is true.
  package static func status(
    ofFile path: String, in directory: CInt = AT_FDCWD, followsLink: Bool = false
  ) throws(Errno) -> FileStatus {
    var status = stat()
    _ = try systemCall { fstatat(directory, path, &status, followsLink ? 0 : AT_SYMLINK_NOFOLLOW) }
    return FileStatus(status)
  }

  /// Reads the part of a file that the system holds in memory, without waiting for the disk. Nil when it holds nothing
  /// there, when the file ends there, and on any error.
  package static func readCached(
    _ descriptor: CInt, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) -> Int? {
    var piece = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
    let withoutWaiting: CInt = 8
    let count = preadv2(descriptor, &piece, 1, off_t(offset), withoutWaiting)
    return count > 0 ? count : nil
  }

  /// Writes all bytes at the descriptor's position.
  package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) throws(Errno) {
    var written = 0
    while written < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
      let count = try systemCall { Glibc.write(descriptor, rest.baseAddress, rest.count) }
      // Success without progress is nothing that POSIX knows, and must not be repeated for ever.
      guard count > 0 else { throw Errno(rawValue: EIO) }
      written += count
    }
  }

  /// Copies the whole of a file, from its beginning, to the other descriptor's position.
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

  /// Moves the descriptor's position to the file's end.
  package static func seekToEnd(_ descriptor: CInt) throws(Errno) {
    _ = try systemCall { lseek(descriptor, 0, SEEK_END) }
  }

  /// Locks the file exclusively until the descriptor is closed; fails at once if another has the lock.
  package static func lock(_ descriptor: CInt) throws(Errno) {
    _ = try systemCall { flock(descriptor, LOCK_EX | LOCK_NB) }
  }

  package static func makeDirectory(_ path: String, permissions: UInt32) throws(Errno) {
    _ = try systemCall { mkdir(path, permissions) }
  }

  package static func remove(_ path: String, in directory: CInt = AT_FDCWD) throws(Errno) {
    _ = try systemCall { unlinkat(directory, path, 0) }
  }

  /// Renames a file in one step: a reader of `target` finds the old file or the new one.
  ///
  /// - Parameter replacing: Whether an existing `target` is replaced. If not, it is a failure (`EEXIST`).
  package static func rename(_ path: String, to target: String, replacing: Bool) throws(Errno) {
    if replacing {
      _ = try systemCall { Glibc.rename(path, target) }
      return
    }
    do {
      let noReplace: CUnsignedInt = 1
      _ = try systemCall { renameat2(AT_FDCWD, path, AT_FDCWD, target, noReplace) }
    } catch  where error.rawValue == EINVAL || error.rawValue == ENOSYS {
      // The file system can't do that. A second name does as well, for `link` fails where the name exists.
      _ = try systemCall { link(path, target) }
      try remove(path)
    }
  }
}

extension Errno {
  package static var exists: Errno { Errno(rawValue: EEXIST) }
  package static var noSuchFile: Errno { Errno(rawValue: ENOENT) }
  package static var isDirectory: Errno { Errno(rawValue: EISDIR) }
  /// The file is neither a regular file nor a directory but a FIFO, a socket or a device.
  package static var notRegular: Errno { Errno(rawValue: ESPIPE) }
  package static var notPermitted: Errno { Errno(rawValue: EPERM) }
  package static var permissionDenied: Errno { Errno(rawValue: EACCES) }
  package static var noSpace: Errno { Errno(rawValue: ENOSPC) }
  package static var otherFileSystem: Errno { Errno(rawValue: EXDEV) }
  package static var readOnlyFileSystem: Errno { Errno(rawValue: EROFS) }
  package static var nameTooLong: Errno { Errno(rawValue: ENAMETOOLONG) }
  package static var quotaExceeded: Errno { Errno(rawValue: EDQUOT) }
}

import Foundation
import Glibc
import WeirIO

/// A file that is a part of a form: it is there, regular and readable when the form is made, and again when it is read.
struct MultipartFile: Sendable {
  let url: URL
  let size: UInt64
  private let path: String

  /// Looks at a file without opening it: opening a pipe waits for its writer, and a device may do anything.
  init(at url: URL) throws(WeirError) {
    guard url.isFileURL else { throw Self.failed(.bodyPartURLInvalid(url: url)) }
    self.url = url
    path = url.path
    let path = path
    size = try Self.size(of: try Self.status(of: url) { stat(path, &$0) }, at: url)
    // With the rights that opening it is judged by, which are not always those of the real user.
    guard (try? systemCall { faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) }) != nil else {
      throw Self.failed(.bodyPartInputStreamCreationFailed(for: url))
    }
  }

  /// Opens it for reading; it must still be what it was.
  func open() throws(WeirError) -> CInt {
    let descriptor: CInt
    do throws(Errno) {
      // It may have become a pipe by now, which nobody waits for.
      descriptor = try systemCall { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    } catch {
      throw Self.failed(.bodyPartFileNotReachableWithError(atURL: url, error: POSIXError(error)))
    }
    do throws(WeirError) {
      let status = try Self.status(of: url) { fstat(descriptor, &$0) }
      let found = try Self.size(of: status, at: url)
      guard found == size else { throw .unexpectedLength(expected: size, read: found) }
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  private static func status(of url: URL, _ call: (inout stat) -> CInt) throws(WeirError) -> stat {
    var status = stat()
    do throws(Errno) {
      _ = try systemCall { call(&status) }
    } catch {
      throw failed(.bodyPartFileNotReachableWithError(atURL: url, error: POSIXError(error)))
    }
    return status
  }

  private static func size(of status: stat, at url: URL) throws(WeirError) -> UInt64 {
    switch status.st_mode & S_IFMT {
    case S_IFREG: return UInt64(max(0, status.st_size))
    case S_IFDIR: throw failed(.bodyPartFileIsDirectory(at: url))
    default: throw failed(.bodyPartFileSizeNotAvailable(at: url))
    }
  }

  private static func failed(_ reason: WeirError.MultipartEncodingFailureReason) -> WeirError {
    .multipartEncodingFailed(reason: reason)
  }
}

extension WeirError {
  /// A part that was not as long as it was said to be.
  static func unexpectedLength(expected: UInt64, read: UInt64) -> WeirError {
    .multipartEncodingFailed(
      reason: .inputStreamReadFailed(
        error: UnexpectedInputStreamLength(bytesExpected: expected, bytesRead: read)))
  }
}

extension POSIXError {
  /// The public form of a system's error.
  init(_ error: Errno) {
    self.init(POSIXErrorCode(rawValue: error.rawValue) ?? .EIO)
  }
}

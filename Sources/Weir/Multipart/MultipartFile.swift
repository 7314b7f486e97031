import Glibc
import WeirIO

/// A file that is a part of a form: it is there, regular and readable when the form is made, and again when it is read.
struct MultipartFile: Sendable {
  let url: URL
  let size: UInt64
  private let path: String

  /// Looks at a file without opening it: opening a pipe waits for its writer, and a device may do anything.
  init(at url: URL) throws(WeirError) {
    guard url.isFileURL else { throw .multipartEncodingFailed(reason: .bodyPartURLInvalid(url: url)) }
    self.url = url
    path = url.path
    let path = path
    do throws(Errno) {
      let status = try FileSystem.status(ofFile: path, followsLink: true)
      try status.expectRegular()
      size = UInt64(max(0, status.size))
    } catch {
      throw Self.failure(error, at: url)
    }
    // With the rights that opening it is judged by, which are not always those of the real user.
    guard (try? systemCall { faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) }) != nil else {
      throw .multipartEncodingFailed(reason: .bodyPartInputStreamCreationFailed(for: url))
    }
  }

  /// Opens it for reading; it must still be what it was.
  func open() throws(WeirError) -> CInt {
    let file: (descriptor: CInt, size: Int64)
    do throws(Errno) {
      file = try FileSystem.openRegular(path)
    } catch {
      throw Self.failure(error, at: url)
    }
    guard file.size == Int64(clamping: size) else {
      FileSystem.close(file.descriptor)
      throw .unexpectedLength(expected: size, read: UInt64(max(0, file.size)))
    }
    return file.descriptor
  }

  private static func failure(_ error: Errno, at url: URL) -> WeirError {
    switch error {
    case .isDirectory: .multipartEncodingFailed(reason: .bodyPartFileIsDirectory(at: url))
    case .notRegular: .multipartEncodingFailed(reason: .bodyPartFileSizeNotAvailable(at: url))
    default: .multipartEncodingFailed(reason: .bodyPartFileNotReachableWithError(atURL: url, error: POSIXError(error)))
    }
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

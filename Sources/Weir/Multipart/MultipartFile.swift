import Glibc
import WeirIO

/// A file as a part of a form. It must exist and be regular and readable when the form is made, and again when it is
/// read.
struct MultipartFile: Sendable {
  let url: URL
  let size: UInt64
  private let path: String

  /// Checks a file without opening it: opening a pipe waits for its writer, and opening a device may have effects.
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
    // `AT_EACCESS` checks with the effective user's rights, as opening does, instead of the real user's.
    guard (try? systemCall { faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) }) != nil else {
      throw .multipartEncodingFailed(reason: .bodyPartInputStreamCreationFailed(for: url))
    }
  }

  /// Opens the file for reading; it must still have the size that it had.
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
  /// The error of a part whose length differs from the declared one.
  static func unexpectedLength(expected: UInt64, read: UInt64) -> WeirError {
    .multipartEncodingFailed(
      reason: .inputStreamReadFailed(
        error: UnexpectedInputStreamLength(bytesExpected: expected, bytesRead: read)))
  }
}

extension POSIXError {
  /// The public form of a system error.
  init(_ error: Errno) {
    self.init(POSIXErrorCode(rawValue: error.rawValue) ?? .EIO)
  }
}

/// Reads the body of a part that is not in memory, to its end, once.
final class MultipartReader {
  private enum Source {
    case file(CInt)
    case stream(InputStream)
    /// A stream that an earlier encoding has already read.
    case nothing
  }

  private let source: Source

  init(_ file: MultipartFile) throws(WeirError) {
    source = .file(try file.open())
  }

  init(_ handed: MultipartStream) {
    guard let stream = handed.take() else {
      source = .nothing
      return
    }
    if stream.streamStatus == .notOpen { stream.open() }
    source = .stream(stream)
  }

  deinit {
    switch source {
    case .file(let descriptor): close(descriptor)
    case .stream(let stream): stream.close()
    case .nothing: break
    }
  }

  /// Reads at least a byte into a non-empty buffer and returns the number of bytes; 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(WeirError) -> Int {
    switch source {
    case .file(let descriptor):
      do throws(Errno) {
        return try systemCall { Glibc.read(descriptor, buffer.baseAddress, buffer.count) }
      } catch {
        throw Self.failed(POSIXError(error))
      }
    case .stream(let stream):
      do {
        return try stream.read(into: buffer)
      } catch {
        throw Self.failed(error)
      }
    case .nothing: return 0
    }
  }

  private static func failed(_ error: any Error) -> WeirError {
    .multipartEncodingFailed(reason: .inputStreamReadFailed(error: error))
  }
}

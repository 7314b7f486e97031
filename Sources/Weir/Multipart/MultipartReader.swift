import Glibc
import WeirIO

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

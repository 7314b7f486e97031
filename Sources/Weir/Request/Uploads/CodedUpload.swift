import Glibc
import WeirIO

/// Makes bodies that are compressed while they are sent.
enum CodedUpload {
  static func stream(_ plain: InputStream, _ coding: RequestCoding) -> InputStream {
    (try? CompressedInputStream(plain, coding)) ?? FailedStream()
  }

  /// The stream for the case that zlib had no memory.
  private final class FailedStream: InputStream {
    init() { super.init(data: Data()) }

    override var streamStatus: Status { .notOpen }
    override var streamError: (any Error)? { POSIXError(.ENOMEM) }
    override func open() {}
    override func close() {}
    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int { -1 }
  }
}

extension UploadBody {
  /// Data or a file as a stream that was not read yet; nil for a stream.
  var plainStream: InputStream? {
    switch uploadable {
    case .data(let data): InputStream(data: data)
    case .file(let url, _): UploadFileStream(url, size: fileSize)
    case .stream: nil
    }
  }
}

/// A stream of the first `size` bytes of a file. It counts the bytes because its reader does not: without the count, a
/// file that became shorter would look complete.
final class UploadFileStream: InputStream {
  private let url: URL
  private var left: Int64
  private var descriptor: CInt = -1
  private var status = Status.notOpen
  private var failure: URLError?

  init(_ url: URL, size: Int64) {
    self.url = url
    left = size
    super.init(data: Data())
  }

  deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

  override var streamStatus: Status { status }
  override var streamError: (any Error)? { failure }
  override var hasBytesAvailable: Bool { status == .open && left > 0 }

  override func open() {
    guard status == .notOpen else { return }
    do throws(URLError) {
      descriptor = try UploadFile.open(url)
      status = .open
    } catch {
      fail(error)
    }
  }

  override func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
    status = .closed
  }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
    guard status == .open else { return -1 }
    guard left > 0 else { return 0 }
    let wanted = min(length, Int(left))
    let count = (try? systemCall { Glibc.read(descriptor, buffer, wanted) }) ?? -1
    guard count > 0 else {
      fail(UploadFile.error(.cannotOpenFile, url, count == 0 ? "has become shorter" : "can't be read"))
      return -1
    }
    left -= Int64(count)
    return count
  }

  private func fail(_ error: URLError) {
    failure = error
    status = .error
  }
}

import Glibc
import Synchronization
import WeirIO

/// Makes the body of an upload.
@preconcurrency
public protocol UploadableConvertible: Sendable {
  /// Makes the body of one attempt, after its URL request was adapted; a retry calls it again. It may take long: it
  /// runs on the session's `requestQueue`, else on one of its workers.
  ///
  /// - Throws: An error that is a ``WeirError`` becomes the request's error as it is; any other is wrapped in
  ///   ``WeirError/createUploadableFailed(error:)``.
  func createUploadable() throws -> UploadRequest.Uploadable
}

/// Makes both the URL request and the body of an upload; see ``Session/upload(_:interceptor:shouldAutomaticallyResume:fileManager:)``.
@preconcurrency
public protocol UploadConvertible: UploadableConvertible, URLRequestConvertible {}

extension UploadRequest {
  /// The source of an upload's body.
  ///
  /// `@unchecked Sendable` for the stream: the caller no longer uses a stream it has passed on, and weir lets one
  /// worker at a time read it.
  public enum Uploadable: @unchecked Sendable {
    /// Bytes in memory.
    case data(Data)
    /// A regular file. As many bytes are sent as it has when the attempt begins. With `shouldRemove`, the file is
    /// removed when the request has ended, however it ends.
    case file(URL, shouldRemove: Bool)
    /// A stream that was not opened yet. It can be sent once; without a `Content-Length` it is sent in chunks.
    case stream(InputStream)
  }
}

extension UploadRequest.Uploadable: UploadableConvertible {
  /// Returns the uploadable itself.
  public func createUploadable() throws -> UploadRequest.Uploadable { self }
}

extension UploadRequest.Uploadable {
  /// The file that is to be removed when the request ends.
  var temporaryFile: URL? {
    if case .file(let url, shouldRemove: true) = self { url } else { nil }
  }
}

/// A form as the URL request and the body of an upload. The form is encoded when the first URL request is built.
/// Retries use the same bytes, or the same temporary file, which is removed when the request ends.
final class MultipartUpload: UploadConvertible {
  private let form: MultipartFormData
  private let convertible: any URLRequestConvertible
  private let threshold: UInt64
  private let encoded = Mutex<UploadRequest.Uploadable?>(nil)

  init(_ form: MultipartFormData, with convertible: any URLRequestConvertible, threshold: UInt64) {
    self.form = form
    self.convertible = convertible
    self.threshold = threshold
  }

  /// The encoded form; nil before it is encoded.
  var uploadable: UploadRequest.Uploadable? { encoded.withLock { $0 } }

  /// The convertible's URL request, with its content type replaced by the form's.
  func asURLRequest() throws -> URLRequest {
    var urlRequest = try convertible.asURLRequest()
    // A request without a URL is refused later; changing it traps in Foundation.
    guard urlRequest.url != nil else { return urlRequest }
    _ = try createUploadable()
    urlRequest.setValue(form.contentType, forHTTPHeaderField: "Content-Type")
    return urlRequest
  }

  func createUploadable() throws -> UploadRequest.Uploadable {
    if let uploadable { return uploadable }
    let made = try encode()
    let kept = encoded.withLock { encoded in
      defer { encoded = encoded ?? made }
      return encoded
    }
    guard let kept else { return made }
    // Two calls encoded the form at once, and the other one was first.
    if let file = made.temporaryFile { UploadFile.remove(file, by: form.fileManager) }
    return kept
  }

  private func encode() throws -> UploadRequest.Uploadable {
    switch try MultipartEncoding.encode(form, usingThreshold: threshold) {
    case .data(let data): .data(data)
    case .file(let file): .file(file, shouldRemove: true)
    }
  }
}

/// Makes bodies that are compressed while they are sent.
enum CodedUpload {
  static func stream(_ plain: InputStream, _ coding: RequestCoding) -> InputStream {
    let stream: InputStream? =
      if let sequence = plain as? SequenceInputStream {
        try? SequenceInputStream(sequence, coding)
      } else {
        try? CompressedInputStream(plain, coding)
      }
    return stream ?? FailedStream()
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

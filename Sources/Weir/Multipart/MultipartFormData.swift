import Synchronization
import WeirHTTP

/// The body of a form with files, `multipart/form-data` (RFC 7578).
///
/// Append the parts, then pass the form to an upload. Appending never throws: the first error is kept, and thrown by
/// ``encode()`` and ``writeEncodedData(to:)``. Parts that are `Data` or files can be encoded repeatedly; a stream can
/// be read only once. The form is safe to use from several threads; no file or stream is read under its lock.
public final class MultipartFormData: Sendable {
  /// Forms of at least this size, in bytes, are uploaded from a temporary file unless the caller says otherwise.
  public static let encodingMemoryThreshold: UInt64 = 10_000_000

  private struct State: Sendable {
    var contentType: String
    var parts: [MultipartPart] = []
    var contentLength: UInt64 = 0
    /// The first error.
    var failure: WeirError?
  }

  /// The boundary between parts (RFC 2046 section 5.1.1).
  public let boundary: String
  let fileManager: FileManager
  private let state: Mutex<State>

  /// Creates an empty form.
  ///
  /// - Parameters:
  ///   - fileManager: Gives the directory for temporary files.
  ///   - boundary: Must not occur in any part; nil means one with 64 random bits.
  public init(fileManager: FileManager = .default, boundary: String? = nil) {
    let boundary = boundary ?? Self.randomBoundary
    self.boundary = boundary
    self.fileManager = fileManager
    var state = State(contentType: Self.contentType(of: boundary))
    if boundary.isEmpty || !FieldSyntax.isSendable(boundary) { state.failure = Self.invalid(field: "Content-Type") }
    self.state = Mutex(state)
  }

  /// The request's `Content-Type`: `multipart/form-data; boundary=…`.
  public var contentType: String {
    get { state.withLock { $0.contentType } }
    set { state.withLock { $0.contentType = newValue } }
  }

  /// The bytes of all parts' bodies, without headers and boundaries.
  public var contentLength: UInt64 { state.withLock { $0.contentLength } }

  /// Appends bytes.
  ///
  /// - `name`: The field's name. Quotes, line breaks and NUL in it and in the file name are percent-encoded.
  /// - `fileName`: If set, the server takes the part for a file.
  /// - `mimeType`: The part's `Content-Type`.
  public func append(_ data: Data, withName name: String, fileName: String? = nil, mimeType: String? = nil) {
    append(.data(data), UInt64(data.count), MultipartHead(name: name, fileName: fileName, mimeType: mimeType))
  }

  /// Appends a file, with the last component of its path as file name and the media type of its extension.
  ///
  /// Its error is ``WeirError/MultipartEncodingFailureReason/bodyPartFilenameInvalid(in:)`` if there is no name or
  /// extension, else the same as for ``append(_:withName:fileName:mimeType:)-(URL,_,_,_)``.
  public func append(_ fileURL: URL, withName name: String) {
    let fileName = fileURL.lastPathComponent
    let fileExtension = fileURL.pathExtension
    guard !fileName.isEmpty, !fileExtension.isEmpty else { return fail(.bodyPartFilenameInvalid(in: fileURL)) }
    append(fileURL, withName: name, fileName: fileName, mimeType: MediaType.ofFile(withExtension: fileExtension))
  }

  /// Appends a file, which is checked now and read when the form is encoded; it must not change in between.
  ///
  /// Possible errors, in this order: not a file URL, missing, a directory, without a size (a pipe, a device), not
  /// readable.
  public func append(_ fileURL: URL, withName name: String, fileName: String, mimeType: String) {
    do throws(WeirError) {
      let file = try MultipartFile(at: fileURL)
      append(.file(file), file.size, MultipartHead(name: name, fileName: fileName, mimeType: mimeType))
    } catch {
      fail(error)
    }
  }

  /// Appends a stream, which has to give `length` bytes, or encoding fails. The form opens, reads and closes the
  /// stream, once; don't use it from now on.
  public func append(
    _ stream: InputStream, withLength length: UInt64, name: String, fileName: String, mimeType: String
  ) {
    append(
      .stream(MultipartStream(stream)), length, MultipartHead(name: name, fileName: fileName, mimeType: mimeType))
  }

  /// Appends a stream like the other form, with the part's header fields as given.
  public func append(_ stream: InputStream, withLength length: UInt64, headers: HTTPHeaders) {
    append(.stream(MultipartStream(stream)), length, MultipartHead(headers))
  }

  /// The whole body in memory; empty without parts. Reads files and streams, so it may take long.
  ///
  /// Throws ``WeirError/multipartEncodingFailed(reason:)``.
  public func encode() throws -> Data {
    let body = try body()
    let memory = try MultipartMemory(capacity: body.expectedSize)
    try body.write(to: memory)
    return memory.takeData()
  }

  /// Writes the body to a new file that only its owner may read, in constant memory. A file that can't be written
  /// completely is removed.
  ///
  /// Throws ``WeirError/multipartEncodingFailed(reason:)``, also if something exists at that place, even a link.
  public func writeEncodedData(to fileURL: URL) throws {
    let body = try body()
    let target = try MultipartTarget(creating: fileURL)
    do {
      try body.write(to: target)
      try target.close()
    } catch {
      target.remove()
      throw error
    }
  }

  private func body() throws(WeirError) -> MultipartBody {
    let (parts, failure) = state.withLock { ($0.parts, $0.failure) }
    if let failure { throw failure }
    return MultipartBody(boundary: boundary, parts: parts)
  }

  private func append(_ body: MultipartPart.Body, _ length: UInt64, _ head: MultipartHead) {
    if let field = head.invalidField { return fail(Self.invalid(field: field)) }
    let part = MultipartPart(head: head.bytes, body: body, length: length)
    state.withLock { state in
      state.parts.append(part)
      state.contentLength = state.contentLength.saturatingAdd(length)
    }
  }

  private func fail(_ reason: WeirError.MultipartEncodingFailureReason) {
    fail(.multipartEncodingFailed(reason: reason))
  }

  private func fail(_ error: WeirError) {
    state.withLock { state in
      if state.failure == nil { state.failure = error }
    }
  }

  /// `weir.boundary.` and 64 random bits. So the parts need not be searched for it.
  private static var randomBoundary: String {
    "weir.boundary." + String(format: "%016lx", UInt64.random(in: 0 ... .max))
  }

  /// The media type with the boundary, which is quoted if it is not a token (RFC 9110 section 5.6.6).
  private static func contentType(of boundary: String) -> String {
    guard !FieldSyntax.isToken(boundary) else { return "multipart/form-data; boundary=\(boundary)" }
    let escaped = boundary.unicodeScalars.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
    return "multipart/form-data; boundary=\"\(String(String.UnicodeScalarView(escaped)))\""
  }

  private static func invalid(field: String) -> WeirError {
    .urlRequestValidationFailed(reason: .invalidHeaderField(name: field))
  }
}

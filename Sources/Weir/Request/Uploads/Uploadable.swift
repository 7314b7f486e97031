/// Makes the body of an upload.
@preconcurrency
public protocol UploadableConvertible: Sendable {
  /// Makes the body of one attempt, after its URL request was adapted; a retry asks again. It may take long: it runs on
  /// the session's `requestQueue`, else on one of its workers.
  ///
  /// - Throws: A ``WeirError`` is the request's error as it is, another one in
  ///   ``WeirError/createUploadableFailed(error:)``.
  func createUploadable() throws -> UploadRequest.Uploadable
}

/// Makes both the URL request and the body of an upload; see ``Session/upload(_:interceptor:shouldAutomaticallyResume:fileManager:)``.
@preconcurrency
public protocol UploadConvertible: UploadableConvertible, URLRequestConvertible {}

extension UploadRequest {
  /// What an upload's body comes out of.
  ///
  /// `@unchecked Sendable` for the stream: whoever gives it away uses it no more, and weir has one worker at a time read it.
  public enum Uploadable: @unchecked Sendable {
    /// Bytes in memory.
    case data(Data)
    /// A regular file, of which as many bytes are sent as it has when the attempt begins; removed when the request has
    /// ended, however it ends, if that is wanted.
    case file(URL, shouldRemove: Bool)
    /// A stream that was not opened yet. It can be sent once; without a `Content-Length` it goes out in chunks.
    case stream(InputStream)
  }
}

extension UploadRequest.Uploadable: UploadableConvertible {
  /// Itself.
  public func createUploadable() throws -> UploadRequest.Uploadable { self }
}

extension UploadRequest.Uploadable {
  /// The file that is to be removed in the end.
  var temporaryFile: URL? {
    if case .file(let url, shouldRemove: true) = self { url } else { nil }
  }
}

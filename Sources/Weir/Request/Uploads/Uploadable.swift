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

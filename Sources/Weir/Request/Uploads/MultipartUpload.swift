import Synchronization

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

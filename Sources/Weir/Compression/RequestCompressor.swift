import WeirIO

/// A compressor of request bodies. All compressors choose the bodies and compress them in the same way.
protocol RequestCompressor: UploadCompressor {
  var coding: RequestCoding { get }
  var duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior { get }
  var shouldCompressBodyData: @Sendable (Data) -> Bool { get }
}

/// A body up to this size is compressed at once; larger ones would hold up the loop.
private let inlineSize = 64 << 10

extension RequestCompressor {
  /// Answers with the request. Its body is compressed if the options say so.
  func compress(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    do {
      guard let body = urlRequest.httpBody, try isWanted(for: urlRequest, body) else {
        return completion(.success(urlRequest))
      }
      guard body.count > inlineSize else { return completion(.success(try compressed(urlRequest, body))) }
      session.context.workers.submit { completion(Result { try compressed(urlRequest, body) }) }
    } catch {
      completion(.failure(error))
    }
  }

  package func coding(ofUpload urlRequest: URLRequest, data: Data?) throws -> RequestCoding? {
    try compressesUploads && isWanted(for: urlRequest, data) ? coding : nil
  }

  /// Whether a request's body is to be compressed.
  ///
  /// - Parameter body: Nil if the body isn't in memory; `shouldCompressBodyData` is not called then.
  private func isWanted(for urlRequest: URLRequest, _ body: Data?) throws -> Bool {
    // A request without a URL is refused later; setting a field of it traps in Foundation.
    guard urlRequest.url != nil else { return false }
    if let body, !shouldCompressBodyData(body) { return false }
    guard urlRequest.value(forHTTPHeaderField: "Content-Encoding") != nil else { return true }
    switch duplicateHeaderBehavior {
    case .error: throw DeflateRequestCompressor.DuplicateHeaderError()
    case .replace: return true
    case .skip: return false
    }
  }

  private func compressed(_ urlRequest: URLRequest, _ body: Data) throws -> URLRequest {
    var urlRequest = urlRequest
    urlRequest.httpBody = try coding.compress(body)
    urlRequest.setValue(coding.rawValue, forHTTPHeaderField: "Content-Encoding")
    return urlRequest
  }
}

import WeirIO

/// A compressor of request bodies. All compressors choose the bodies and compress them in the same way.
protocol RequestCompressor: RequestInterceptor, UploadCompressor {
  var coding: RequestCoding { get }
  var duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior { get }
  var shouldCompressBodyData: @Sendable (Data) -> Bool { get }
}

/// A body up to this size is compressed at once; larger ones would hold up the loop.
private let inlineSize = 64 << 10

extension RequestCompressor {
  /// Answers with the request. Its body is compressed if the options say so.
  @preconcurrency
  public func adapt(
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

/// Compresses the bodies of requests in the zlib format (RFC 1950) and sends them with `Content-Encoding: deflate`.
///
/// Use it for servers that are known to decompress such bodies; nothing checks that they do. It compresses the body in
/// `URLRequest.httpBody`. Uploads are left alone unless ``compressesUploads`` is set.
public struct DeflateRequestCompressor: RequestInterceptor, AdaptOnlyInterceptor {
  /// The treatment of a request that already has a `Content-Encoding`.
  public enum DuplicateHeaderBehavior: Sendable, Hashable {
    /// It fails with ``DuplicateHeaderError``.
    case error
    /// Its body is compressed, and the compressor's field replaces the old one.
    case replace
    /// It stays as it is.
    case skip
  }

  /// A request had a `Content-Encoding` before it was compressed.
  public struct DuplicateHeaderError: Error, Hashable {
    /// Creates the error.
    public init() {}
  }

  /// The treatment of a request that already has a `Content-Encoding`.
  public let duplicateHeaderBehavior: DuplicateHeaderBehavior
  /// Decides for each body in memory whether it is compressed.
  @preconcurrency
  public let shouldCompressBodyData: @Sendable (Data) -> Bool
  /// Whether the bodies of uploads are compressed too. They are compressed while they are sent, in chunks, as their
  /// size isn't known.
  public let compressesUploads: Bool

  /// Creates a compressor.
  @preconcurrency
  public init(
    duplicateHeaderBehavior: DuplicateHeaderBehavior = .error, compressesUploads: Bool = false,
    shouldCompressBodyData: @escaping @Sendable (Data) -> Bool = { _ in true }
  ) {
    self.duplicateHeaderBehavior = duplicateHeaderBehavior
    self.compressesUploads = compressesUploads
    self.shouldCompressBodyData = shouldCompressBodyData
  }
}

extension DeflateRequestCompressor: RequestCompressor {
  var coding: RequestCoding { .deflate }
}

extension DeflateRequestCompressor.DuplicateHeaderError: LocalizedError {
  /// The text says which option to change.
  public var errorDescription: String? {
    "The request has a Content-Encoding already (duplicateHeaderBehavior: .replace or .skip)."
  }
}

extension RequestInterceptor where Self == DeflateRequestCompressor {
  /// Compresses all bodies in memory; a request that already has a `Content-Encoding` fails.
  public static var deflateCompressor: DeflateRequestCompressor { DeflateRequestCompressor() }

  /// Compresses bodies.
  @preconcurrency
  public static func deflateCompressor(
    duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior = .error,
    compressesUploads: Bool = false, shouldCompressBodyData: @escaping @Sendable (Data) -> Bool = { _ in true }
  ) -> DeflateRequestCompressor {
    DeflateRequestCompressor(
      duplicateHeaderBehavior: duplicateHeaderBehavior, compressesUploads: compressesUploads,
      shouldCompressBodyData: shouldCompressBodyData)
  }
}

/// Compresses the bodies of requests in the gzip format (RFC 1952) and sends them with `Content-Encoding: gzip`.
///
/// Like ``DeflateRequestCompressor``, in the format that more servers understand.
public struct GzipRequestCompressor: RequestInterceptor, AdaptOnlyInterceptor {
  /// The treatment of a request that already has a `Content-Encoding`.
  public typealias DuplicateHeaderBehavior = DeflateRequestCompressor.DuplicateHeaderBehavior

  /// A request had a `Content-Encoding` before it was compressed.
  public typealias DuplicateHeaderError = DeflateRequestCompressor.DuplicateHeaderError

  /// The treatment of a request that already has a `Content-Encoding`.
  public let duplicateHeaderBehavior: DuplicateHeaderBehavior
  /// Decides for each body in memory whether it is compressed.
  @preconcurrency
  public let shouldCompressBodyData: @Sendable (Data) -> Bool
  /// Whether the bodies of uploads are compressed too. They are compressed while they are sent, in chunks, as their
  /// size isn't known.
  public let compressesUploads: Bool

  /// Creates a compressor.
  @preconcurrency
  public init(
    duplicateHeaderBehavior: DuplicateHeaderBehavior = .error, compressesUploads: Bool = false,
    shouldCompressBodyData: @escaping @Sendable (Data) -> Bool = { _ in true }
  ) {
    self.duplicateHeaderBehavior = duplicateHeaderBehavior
    self.compressesUploads = compressesUploads
    self.shouldCompressBodyData = shouldCompressBodyData
  }
}

extension GzipRequestCompressor: RequestCompressor {
  var coding: RequestCoding { .gzip }
}

extension RequestInterceptor where Self == GzipRequestCompressor {
  /// Compresses all bodies in memory; a request that already has a `Content-Encoding` fails.
  public static var gzipCompressor: GzipRequestCompressor { GzipRequestCompressor() }

  /// Compresses bodies.
  @preconcurrency
  public static func gzipCompressor(
    duplicateHeaderBehavior: GzipRequestCompressor.DuplicateHeaderBehavior = .error,
    compressesUploads: Bool = false, shouldCompressBodyData: @escaping @Sendable (Data) -> Bool = { _ in true }
  ) -> GzipRequestCompressor {
    GzipRequestCompressor(
      duplicateHeaderBehavior: duplicateHeaderBehavior, compressesUploads: compressesUploads,
      shouldCompressBodyData: shouldCompressBodyData)
  }
}

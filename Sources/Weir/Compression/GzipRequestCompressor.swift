/// Compresses the bodies of requests in the gzip format (RFC 1952) and sends them with `Content-Encoding: gzip`.
///
/// As ``DeflateRequestCompressor``, in the format that more servers know.
public struct GzipRequestCompressor: RequestInterceptor, AdaptOnlyInterceptor {
  /// What becomes of a request that has a `Content-Encoding` already.
  public typealias DuplicateHeaderBehavior = DeflateRequestCompressor.DuplicateHeaderBehavior

  /// A request had a `Content-Encoding` before it was compressed.
  public typealias DuplicateHeaderError = DeflateRequestCompressor.DuplicateHeaderError

  /// What becomes of a request that has a `Content-Encoding` already.
  public let duplicateHeaderBehavior: DuplicateHeaderBehavior
  /// Asked about each body in memory.
  @preconcurrency
  public let shouldCompressBodyData: @Sendable (Data) -> Bool
  /// Whether the bodies of uploads are compressed too, while they are sent, and in chunks as their size isn't known.
  public let compressesUploads: Bool

  /// Takes all options.
  @preconcurrency
  public init(
    duplicateHeaderBehavior: DuplicateHeaderBehavior = .error, compressesUploads: Bool = false,
    shouldCompressBodyData: @escaping @Sendable (Data) -> Bool = { _ in true }
  ) {
    self.duplicateHeaderBehavior = duplicateHeaderBehavior
    self.compressesUploads = compressesUploads
    self.shouldCompressBodyData = shouldCompressBodyData
  }

  @preconcurrency
  public func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    compress(urlRequest, for: session, completion: completion)
  }
}

extension GzipRequestCompressor: RequestCompressor {
  var coding: RequestCoding { .gzip }
}

extension RequestInterceptor where Self == GzipRequestCompressor {
  /// Compresses all bodies in memory, and fails where there is a `Content-Encoding`.
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

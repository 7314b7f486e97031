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

/// Compresses the bodies of requests in the zlib format (RFC 1950) and sends them with `Content-Encoding: deflate`.
///
/// It is for servers that are known to undo this; nothing asks them. Bodies are those of `URLRequest.httpBody`: uploads are
/// left alone unless that is asked for.
public struct DeflateRequestCompressor: RequestInterceptor, AdaptOnlyInterceptor {
  /// What becomes of a request that has a `Content-Encoding` already.
  public enum DuplicateHeaderBehavior: Sendable, Hashable {
    /// It fails with ``DuplicateHeaderError``.
    case error
    /// Its body is compressed, and the field is this compressor's.
    case replace
    /// It stays as it is.
    case skip
  }

  /// A request had a `Content-Encoding` before it was compressed.
  public struct DuplicateHeaderError: Error, Hashable {
    /// Makes one.
    public init() {}
  }

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

extension DeflateRequestCompressor: RequestCompressor {
  var coding: RequestCoding { .deflate }
}

extension DeflateRequestCompressor.DuplicateHeaderError: LocalizedError {
  /// What to change.
  public var errorDescription: String? {
    "The request has a Content-Encoding already (duplicateHeaderBehavior: .replace or .skip)."
  }
}

extension RequestInterceptor where Self == DeflateRequestCompressor {
  /// Compresses all bodies in memory, and fails where there is a `Content-Encoding`.
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

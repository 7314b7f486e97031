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

/// An adapter that may also compress the bodies of uploads, which adapters don't see.
///
/// Once the adapters have run and the body is there, ``[NamedAdapter]/codeUpload(_:data:)`` asks the compressors in the
/// chain. The body is then sent through a `CompressedBody` or a `CompressedInputStream`.
package protocol UploadCompressor: Sendable {
  /// Whether it compresses any uploads; if not, it is not asked.
  var compressesUploads: Bool { get }

  /// The coding for an upload's body; nil leaves it uncompressed. The request fails with an error that is thrown.
  ///
  /// - Parameter data: The body, if it is in memory; the caller's closure then decides about it.
  func coding(ofUpload urlRequest: URLRequest, data: Data?) throws -> RequestCoding?
}

extension [NamedAdapter] {
  /// Whether some of a request's adapters want uploads compressed.
  var compressUploads: Bool { contains { ($0.adapter as? any UploadCompressor)?.compressesUploads == true } }

  /// Asks the compressors among a request's adapters about an upload's body, and sets `Content-Encoding` in the URL
  /// request accordingly.
  ///
  /// - Returns: The coding that the body is sent in; nil if it is sent as it is. A body is compressed once. If several
  ///   compressors want to, the last that replaces the others' `Content-Encoding` decides.
  func codeUpload(_ urlRequest: inout URLRequest, data: Data?) throws -> RequestCoding? {
    var coding: RequestCoding?
    for case let compressor as any UploadCompressor in map(\.adapter) {
      guard let wanted = try compressor.coding(ofUpload: urlRequest, data: data) else { continue }
      urlRequest.setValue(wanted.rawValue, forHTTPHeaderField: "Content-Encoding")
      coding = wanted
    }
    return coding
  }
}

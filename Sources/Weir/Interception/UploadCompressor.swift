/// An adapter that may also want the bodies of uploads compressed, which no adapter sees.
///
/// Once the adapters have run and the body is there, ``[NamedAdapter]/codeUpload(_:data:)`` asks those in the chain; the body
/// is then sent by way of a ``CompressedBody``, or the stream of that name.
package protocol UploadCompressor: Sendable {
  /// Whether it wants any; else there is no need to ask.
  var compressesUploads: Bool { get }

  /// How an upload's body is to be compressed; nil: not at all. Throws what the request fails with.
  ///
  /// - Parameter data: the body, if it is in memory. Then the caller's closure is asked about it.
  func coding(ofUpload urlRequest: URLRequest, data: Data?) throws -> RequestCoding?
}

extension [NamedAdapter] {
  /// Whether some of a request's adapters want uploads compressed.
  var compressUploads: Bool { contains { ($0.adapter as? any UploadCompressor)?.compressesUploads == true } }

  /// Asks the compressors among a request's adapters about an upload's body, and says in the URL request what comes of it.
  ///
  /// - Returns: The coding that the body is sent in; nil: as it is. With several compressors it is the one that the last to
  ///   replace the others' `Content-Encoding` wants; a body is compressed once.
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

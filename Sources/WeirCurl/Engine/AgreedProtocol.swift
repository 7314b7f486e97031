internal import CCurl

/// The protocol agreed on in the TLS handshake (ALPN, RFC 7301).
enum AgreedProtocol {
  private typealias Selected =
    @convention(c) (
      UnsafeMutableRawPointer, UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<CUnsignedInt>
    ) -> Void

  private static let selected: Selected? = OpenSSL.function("SSL_get0_alpn_selected")

  /// Unknown without TLS, or with a TLS library other than OpenSSL.
  ///
  /// - Parameter silence: The protocol of a server that has chosen none.
  static func expectation(
    _ easy: UnsafeMutableRawPointer, ofSilence silence: ProtocolExpectation
  )
    -> ProtocolExpectation
  {
    guard let selected, let connection = weir_easy_openssl(easy) else { return .unknown }
    var name: UnsafePointer<UInt8>?
    var length: CUnsignedInt = 0
    selected(connection, &name, &length)
    guard let name, length > 0 else { return silence }
    return UnsafeBufferPointer(start: name, count: Int(length)).elementsEqual("h2".utf8) ? .multiplexed : .http1
  }
}

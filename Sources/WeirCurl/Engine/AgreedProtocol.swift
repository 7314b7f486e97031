internal import CCurl
internal import Glibc

/// What client and server agreed on in the TLS handshake (ALPN, RFC 7301).
enum AgreedProtocol {
  private typealias Selected =
    @convention(c) (
      UnsafeMutableRawPointer, UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<CUnsignedInt>
    ) -> Void

  /// OpenSSL's, found as `TLSBuffer` finds its own.
  private static let selected: Selected? =
    dlsym(nil, "SSL_get0_alpn_selected").map { unsafeBitCast($0, to: Selected.self) }

  /// Unknown without TLS, or with one that is none of OpenSSL's.
  ///
  /// - Parameter silence: What a server speaks that has chosen nothing.
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

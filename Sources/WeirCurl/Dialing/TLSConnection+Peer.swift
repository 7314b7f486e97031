extension TLSConnection {
  /// OpenSSL's functions about the peer of a connection.
  private struct PeerFunctions {
    typealias Pointer = UnsafeMutableRawPointer
    typealias Number = @convention(c) (Pointer) -> CInt
    typealias Stack = @convention(c) (Pointer) -> Pointer?
    typealias Element = @convention(c) (Pointer, CInt) -> Pointer?
    typealias Encoding = @convention(c) (Pointer, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt

    let version: Number
    let certificates: Stack
    let verifiedChain: Stack
    let count: Number
    let element: Element
    let encode: Encoding

    static let known: PeerFunctions? = {
      guard let version: Number = OpenSSL.function("SSL_version"),
        let certificates: Stack = OpenSSL.function("SSL_get_peer_cert_chain"),
        let verifiedChain: Stack = OpenSSL.function("SSL_get0_verified_chain"),
        let count: Number = OpenSSL.function("OPENSSL_sk_num"),
        let element: Element = OpenSSL.function("OPENSSL_sk_value"),
        let encode: Encoding = OpenSSL.function("i2d_X509")
      else { return nil }
      return PeerFunctions(
        version: version, certificates: certificates, verifiedChain: verifiedChain, count: count, element: element,
        encode: encode)
    }()

    /// The certificates of one of OpenSSL's stacks, in DER.
    func certificates(in stack: Pointer?) -> [[UInt8]] {
      guard let stack else { return [] }
      return (0..<max(0, count(stack))).compactMap { index in
        guard let certificate = element(stack, index) else { return nil }
        let length = encode(certificate, nil)
        guard length > 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, written in
          var end = buffer.baseAddress
          written = max(0, Int(encode(certificate, &end)))
        }
      }
    }
  }

  /// What is known of the peer once the handshake is over.
  func peer() -> TLSPeer? {
    guard let functions = PeerFunctions.known else { return nil }
    return TLSPeer(
      version: Int(functions.version(object)),
      certificates: functions.certificates(in: functions.certificates(object)),
      verifiedChain: functions.certificates(in: functions.verifiedChain(object)))
  }
}

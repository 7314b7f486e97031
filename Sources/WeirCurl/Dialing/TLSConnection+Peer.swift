internal import Glibc

extension TLSConnection {
  /// OpenSSL's functions about the peer of a connection.
  private struct PeerFunctions {
    typealias Pointer = UnsafeMutableRawPointer

    let version: @convention(c) (Pointer) -> CInt
    let certificates: @convention(c) (Pointer) -> Pointer?
    let verifiedChain: @convention(c) (Pointer) -> Pointer?
    let count: @convention(c) (Pointer) -> CInt
    let element: @convention(c) (Pointer, CInt) -> Pointer?
    let encode: @convention(c) (Pointer, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt

    static let known: PeerFunctions? = {
      guard let version = dlsym(nil, "SSL_version"), let certificates = dlsym(nil, "SSL_get_peer_cert_chain"),
        let verifiedChain = dlsym(nil, "SSL_get0_verified_chain"), let count = dlsym(nil, "OPENSSL_sk_num"),
        let element = dlsym(nil, "OPENSSL_sk_value"), let encode = dlsym(nil, "i2d_X509")
      else { return nil }
      return PeerFunctions(
        version: unsafeBitCast(version, to: (@convention(c) (Pointer) -> CInt).self),
        certificates: unsafeBitCast(certificates, to: (@convention(c) (Pointer) -> Pointer?).self),
        verifiedChain: unsafeBitCast(verifiedChain, to: (@convention(c) (Pointer) -> Pointer?).self),
        count: unsafeBitCast(count, to: (@convention(c) (Pointer) -> CInt).self),
        element: unsafeBitCast(element, to: (@convention(c) (Pointer, CInt) -> Pointer?).self),
        encode: unsafeBitCast(
          encode, to: (@convention(c) (Pointer, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt).self))
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

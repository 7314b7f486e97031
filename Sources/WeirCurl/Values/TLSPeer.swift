/// The server's side of a TLS connection, as far as it is to be shown.
package final class TLSPeer: Sendable {
  /// The protocol's number: 0x0304 for TLS 1.3.
  package let version: Int
  /// The certificates that the server sent, its own first; each in DER.
  package let certificates: [[UInt8]]
  /// The certificates from the server's own to the root by which it was judged; each in DER. Without a check of the
  /// chain it says nothing.
  package let verifiedChain: [[UInt8]]

  package init(version: Int, certificates: [[UInt8]], verifiedChain: [[UInt8]]) {
    self.version = version
    self.certificates = certificates
    self.verifiedChain = verifiedChain
  }
}

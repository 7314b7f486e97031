import WeirHTTP
import WeirTLS

/// What the connection itself says of a client to upstreams, besides its address.
final class ClientFacts: Sendable {
  /// Whether the client speaks TLS.
  let isSecure: Bool
  /// The names, in lower case, of fields that this gateway alone sends.
  private let reserved: [[UInt8]]
  /// The fields about the client's certificate.
  let fields: [(name: [UInt8], value: [UInt8])]

  /// The facts of a client without a certificate.
  init(isSecure: Bool, reserved names: [String]) {
    self.isSecure = isSecure
    reserved = names.map { Array(FieldSyntax.lowercased($0).utf8) }
    fields = []
  }

  /// The facts of a client with a certificate.
  init(_ certificate: ClientCertificate, as forward: ListenerTLS.Forwarding, like others: ClientFacts) {
    isSecure = true
    reserved = others.reserved
    let subject = forward.subject.map { (Array($0.utf8), Array(certificate.subject.utf8)) }
    let encoded = forward.certificate.map { (Array($0.utf8), Array(certificate.encoded.utf8)) }
    fields = [subject, encoded].compactMap(\.self)
  }

  /// Whether a client's field is one that this gateway alone sends, or reads like one.
  func reserves(_ name: UnsafeRawBufferPointer) -> Bool {
    !reserved.isEmpty && reserved.contains { name.isNameForCGI($0) }
  }
}

internal import CTLS
internal import Glibc

/// A certificate with its key and chain, as OpenSSL's objects, which it owns.
///
/// It is unchecked because the compiler can't see into pointers. The objects don't change once made, and OpenSSL counts
/// references to them atomically.
final class Identity: @unchecked Sendable {
  let names: CertificateNames
  /// The end of the certificate's validity, in seconds since 1970.
  let notAfter: Int64
  /// OpenSSL's number for the kind of key. A server may show one certificate of each kind for a name.
  let keyKind: CInt

  private let leaf: OpaquePointer
  private let key: OpaquePointer
  /// The certificates after the first.
  private let chain: OpaquePointer

  /// - Parameter index: The certificate's place in the settings, for problems.
  init(_ pem: TLSCertificate, index: Int) throws(TLSProblem) {
    var chain = try PEMReader.certificates(pem.chain, of: .chain(index))[...]
    defer { chain.forEach { X509_free($0) } }
    let key = try PEMReader.privateKey(pem.key, index: index)
    guard let leaf = chain.popFirst() else {
      EVP_PKEY_free(key)
      throw .noCertificate(.chain(index))
    }
    OpenSSLError.clear()
    let fits = X509_check_private_key(leaf, key) == 1
    let fitsAnother = !fits && chain.contains { X509_check_private_key($0, key) == 1 }
    OpenSSLError.clear()
    guard fits, let stack = Identity.takeStack(&chain) else {
      X509_free(leaf)
      EVP_PKEY_free(key)
      throw fits
        ? .internalFailure(detail: "no memory") : fitsAnother ? .chainOrder(index: index) : .keyMismatch(index: index)
    }
    self.leaf = leaf
    self.key = key
    self.chain = stack
    names = CertificateNames(leaf)
    notAfter = Identity.seconds(of: X509_get0_notAfter(leaf))
    keyKind = EVP_PKEY_get_base_id(key)
  }

  deinit {
    weir_certificates_free(chain)
    EVP_PKEY_free(key)
    X509_free(leaf)
  }

  /// Whether OpenSSL takes it into a context. It refuses keys and signatures below its security level.
  func install(inContext context: OpaquePointer) -> Bool {
    SSL_CTX_use_cert_and_key(context, leaf, key, chain, 1) == 1
  }

  /// Whether OpenSSL takes it for a connection.
  func install(in ssl: OpaquePointer) -> Bool { SSL_use_cert_and_key(ssl, leaf, key, chain, 1) == 1 }

  func isCertificate(_ certificate: OpaquePointer) -> Bool { certificate == leaf }

  /// Moves the certificates to a stack of OpenSSL, which the caller frees; nil without memory.
  private static func takeStack(_ chain: inout ArraySlice<OpaquePointer>) -> OpaquePointer? {
    guard let stack = weir_certificates_new() else { return nil }
    while let certificate = chain.first {
      guard weir_certificates_push(stack, certificate) else {
        weir_certificates_free(stack)
        return nil
      }
      chain.removeFirst()
    }
    return stack
  }

  private static func seconds(of time: UnsafePointer<ASN1_TIME>?) -> Int64 {
    var parts = tm()
    // A time that is no time counts as long past.
    guard ASN1_TIME_to_tm(time, &parts) == 1 else { return 0 }
    return Int64(timegm(&parts))
  }
}

/// The certificates of a listener by the names that they are for.
struct IdentityTable: Sendable {
  let identities: [Identity]

  private var exact: [String: [Int]] = [:]
  private var wildcards: [String: [Int]] = [:]
  private var fallback: [Int] = []

  init(_ identities: [Identity]) {
    self.identities = identities
    for (index, identity) in identities.enumerated() {
      for name in identity.names.exact { add(index, to: &exact[name, default: []]) }
      for name in identity.names.wildcards { add(index, to: &wildcards[name, default: []]) }
    }
    guard let first = identities.first else { return }
    for (index, identity) in identities.enumerated() where index == 0 || identity.names.first == first.names.first {
      add(index, to: &fallback)
    }
  }

  /// The certificates for a name, one for each kind of key; nil if there is none. A certificate with the name itself
  /// comes before those with a wildcard, and of two of one kind the first in the settings counts.
  func find(_ name: String) -> [Identity]? {
    let name = CertificateNames.normal(name)
    let found = exact[name] ?? CertificateNames.afterFirstLabel(name).flatMap { wildcards[$0] }
    return found?.map { identities[$0] }
  }

  /// The first certificate, with those of the same first name and another kind of key.
  var first: [Identity] { fallback.map { identities[$0] } }

  private func add(_ index: Int, to places: inout [Int]) {
    let kind = identities[index].keyKind
    if !places.contains(where: { identities[$0].keyKind == kind }) { places.append(index) }
  }
}

import CTLS
import Glibc
import Testing
import WeirTLS

/// A certificate with its key, made in memory.
final class MadeCertificate: @unchecked Sendable {
  enum Kind { case ecdsa, rsa }

  let x509: OpaquePointer
  let key: OpaquePointer

  /// - Parameters:
  ///   - issuer: The authority; nil signs it with its own key.
  ///   - alternatives: The value of subjectAltName in OpenSSL's notation, such as `DNS:a.example,IP:127.0.0.1`.
  ///   - seconds: The time for which it is valid from an hour ago on; a negative one has passed.
  init(
    _ commonName: String, alternatives: String? = nil, by issuer: MadeCertificate? = nil, kind: Kind = .ecdsa,
    isAuthority: Bool = false, seconds: Int = 86_400
  ) throws {
    x509 = try #require(X509_new())
    key = try Self.makeKey(kind)
    X509_set_version(x509, 2)
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), UInt64.random(in: 1...UInt64(Int64.max)))
    X509_gmtime_adj(X509_getm_notBefore(x509), -7200)
    X509_gmtime_adj(X509_getm_notAfter(x509), seconds)
    let name = X509_get_subject_name(x509)
    X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, "Weir, Inc.", -1, -1, 0)
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, commonName, -1, -1, 0)
    X509_set_issuer_name(x509, X509_get_subject_name(issuer?.x509 ?? x509))
    X509_set_pubkey(x509, key)
    if let alternatives { try add(NID_subject_alt_name, alternatives) }
    if isAuthority { try add(NID_basic_constraints, "critical,CA:TRUE") }
    try #require(X509_sign(x509, issuer?.key ?? key, EVP_sha256()) > 0)
  }

  deinit {
    X509_free(x509)
    EVP_PKEY_free(key)
  }

  var certificatePEM: [UInt8] { Self.pem { PEM_write_bio_X509($0, x509) } }
  var keyPEM: [UInt8] { Self.pem { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) } }
  var encryptedKeyPEM: [UInt8] {
    Self.pem { PEM_write_bio_PrivateKey($0, key, EVP_aes_128_cbc(), "secret", 6, nil, nil) }
  }
  /// In the form of keys before PKCS #8.
  var encryptedKeyPEMOfOld: [UInt8] {
    Self.pem { PEM_write_bio_PrivateKey_traditional($0, key, EVP_aes_128_cbc(), "secret", 6, nil, nil) }
  }

  /// The pair as settings have it, with the certificates that lead to the authority.
  func pair(with chain: [MadeCertificate] = []) -> TLSCertificate {
    TLSCertificate(chain: certificatePEM + chain.flatMap { $0.certificatePEM }, key: keyPEM)
  }

  private func add(_ extensionID: CInt, _ value: String) throws {
    let made = try #require(X509V3_EXT_conf_nid(nil, nil, extensionID, value))
    X509_add_ext(x509, made, -1)
    X509_EXTENSION_free(made)
  }

  private static func makeKey(_ kind: Kind) throws -> OpaquePointer {
    let maker = try #require(EVP_PKEY_CTX_new_id(kind == .rsa ? EVP_PKEY_RSA : EVP_PKEY_EC, nil))
    defer { EVP_PKEY_CTX_free(maker) }
    EVP_PKEY_keygen_init(maker)
    if kind == .rsa {
      EVP_PKEY_CTX_set_rsa_keygen_bits(maker, 2048)
    } else {
      EVP_PKEY_CTX_set_ec_paramgen_curve_nid(maker, NID_X9_62_prime256v1)
    }
    var key: OpaquePointer?
    try #require(EVP_PKEY_keygen(maker, &key) == 1)
    return try #require(key)
  }

  private static func pem(_ write: (OpaquePointer?) -> CInt) -> [UInt8] {
    let bio = BIO_new(BIO_s_mem())
    defer { BIO_free(bio) }
    _ = write(bio)
    var count = 0
    let bytes = weir_bio_memory(bio, &count)
    return Array(UnsafeRawBufferPointer(start: bytes, count: count))
  }
}

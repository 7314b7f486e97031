/// A cipher suite by its name at IANA. There are those that Go's crypto/tls calls secure, all with forward secrecy.
package enum TLSCipherSuite: String, Sendable, Equatable, CaseIterable {
  case aes128GCM = "TLS_AES_128_GCM_SHA256"
  case aes256GCM = "TLS_AES_256_GCM_SHA384"
  case chaCha20 = "TLS_CHACHA20_POLY1305_SHA256"
  case ecdsaAES128CBC = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"
  case ecdsaAES256CBC = "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"
  case rsaAES128CBC = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"
  case rsaAES256CBC = "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"
  case ecdsaAES128GCM = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
  case ecdsaAES256GCM = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
  case rsaAES128GCM = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
  case rsaAES256GCM = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
  case ecdsaChaCha20 = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
  case rsaChaCha20 = "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"

  /// The version of TLS that the suite is for.
  var version: TLSSettings.Version {
    switch self {
    case .aes128GCM, .aes256GCM, .chaCha20: .v1_3
    default: .v1_2
    }
  }

  /// OpenSSL's name. It has those of IANA for TLS 1.3 alone.
  var openSSLName: String {
    switch self {
    case .aes128GCM, .aes256GCM, .chaCha20: rawValue
    case .ecdsaAES128CBC: "ECDHE-ECDSA-AES128-SHA"
    case .ecdsaAES256CBC: "ECDHE-ECDSA-AES256-SHA"
    case .rsaAES128CBC: "ECDHE-RSA-AES128-SHA"
    case .rsaAES256CBC: "ECDHE-RSA-AES256-SHA"
    case .ecdsaAES128GCM: "ECDHE-ECDSA-AES128-GCM-SHA256"
    case .ecdsaAES256GCM: "ECDHE-ECDSA-AES256-GCM-SHA384"
    case .rsaAES128GCM: "ECDHE-RSA-AES128-GCM-SHA256"
    case .rsaAES256GCM: "ECDHE-RSA-AES256-GCM-SHA384"
    case .ecdsaChaCha20: "ECDHE-ECDSA-CHACHA20-POLY1305"
    case .rsaChaCha20: "ECDHE-RSA-CHACHA20-POLY1305"
    }
  }
}

/// A group for the exchange of keys, by the name that Go's crypto/tls has for it.
package enum TLSGroup: String, Sendable, Equatable, CaseIterable {
  case p256 = "CurveP256"
  case p384 = "CurveP384"
  case p521 = "CurveP521"
  case x25519 = "X25519"
  /// Known to OpenSSL from 3.5 on.
  case x25519MLKEM768 = "X25519MLKEM768"

  var openSSLName: String {
    switch self {
    case .p256: "P-256"
    case .p384: "P-384"
    case .p521: "P-521"
    case .x25519, .x25519MLKEM768: rawValue
    }
  }
}

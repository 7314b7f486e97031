import WeirTLS

// The keys have the names and values of exporter-toolkit's tls_server_config. The files are read with the
// configuration, so their problems are problems of it.

/// The TLS of the metrics address as far as it was read.
private struct ReadWebTLS {
  var certificate: String?
  var key: String?
  var clientAuth = ClientAuthType.noCertificate
  var prefersServerOrder = true
  var tls = TLSFiles()

  mutating func takeClientAuth(_ given: ConfigurationGiven) {
    tls.rules.clientAuth = clientAuth.settings
    if clientAuth.verifies, !given.has("client_ca_file") {
      given["client_auth_type"]?.report("needs client_ca_file, with the authorities whose clients are let in")
    } else if !clientAuth.verifies {
      given["client_ca_file"]?.report(
        "is of no use with \(clientAuth.rawValue), which verifies no certificate; write "
          + "client_auth_type: RequireAndVerifyClientCert")
    }
    guard let names = given["client_allowed_sans"], let entries = names.isNull ? [] : names.elements() else { return }
    if entries.isEmpty { names.report("is empty, so no client would be let in; leave the key out to let all in") }
    if clientAuth.requires {
      tls.rules.allowedClientNames = Set(entries.compactMap { $0.read(as: .string) })
    } else {
      names.report(
        "with \(clientAuth.rawValue) clients need no certificate; write client_auth_type: RequireAndVerifyClientCert")
    }
  }
}

extension TLSFiles {
  /// The TLS of the metrics address.
  static let formOfWeb: ConfigurationForm<TLSFiles> = ConfigurationMapping(
    ReadWebTLS(),
    rules: ["cert", "key"].map { name in
      .missing("\(name)_file", orElse: [name], "TLS needs a certificate and its key")
    }
  ) {
    ["cert", "key", "client_ca"].map { name in
      Key(refused: name, "is not supported; write the PEM to a file and name it in \(name)_file")
    }
    Key("cert_file", .fileFromFolder, \.certificate)
    Key("key_file", .fileFromFolder, \.key)
    Key("client_ca_file", .fileFromFolder, \.tls.clientCA)
    Key("client_auth_type", .word, \.clientAuth)
    Key(late: "client_allowed_sans", .list(of: .text(nil), 1...Int.max))
    Key("min_version", version, \.tls.rules.minimumVersion)
    Key("max_version", version, \.tls.rules.maximumVersion)
    Key("prefer_server_cipher_suites", .boolean, \.prefersServerOrder)
    Key("cipher_suites", names("a cipher suite's IANA name"), \.tls.rules.cipherSuites)
    Key("curve_preferences", names("a curve"), \.tls.rules.groups)
  }.form { read, given in
    // Nothing is said of keys that would have to fit an unknown word.
    if !given.has("client_auth_type") || given.fitting("client_auth_type") != nil { read.takeClientAuth(given) }
    read.tls.rules.prefersServerOrder = read.prefersServerOrder
    if read.tls.rules.minimumVersion == .v1_3, read.tls.rules.maximumVersion == .v1_2 {
      given["max_version"]?.report("is older than min_version; exchange the two")
      read.tls.rules.maximumVersion = .v1_3
    }
    guard let certificate = read.certificate, let key = read.key else { return nil }
    read.tls.certificates = [TLSFiles.Pair(certificate: certificate, key: key)]
    let authority = read.tls.clientCA == nil ? nil : given["client_ca_file"]
    given.reader.check(read.tls, [given["cert_file"], given["key_file"], authority].compactMap(\.self))
    return read.tls
  }

  private static let version = ConfigurationForm<TLSSettings.Version>(.words(["TLS12", "TLS13"])) { reader in
    let word = reader.read(as: .string) { word in
      switch word {
      case "TLS12", "TLS13": nil
      case "TLS10", "TLS11", "SSL30": "\(word) is not safe any more; give TLS12 or TLS13"
      default: "give TLS12 or TLS13"
      }
    }
    return word.map { $0 == "TLS13" ? .v1_3 : .v1_2 }
  }

  /// A list of values by their names, each once. An empty list stands for the default.
  private static func names<Name: RawRepresentable<String> & CaseIterable & Equatable & Sendable>(
    _ kind: String
  ) -> ConfigurationForm<[Name]> {
    let known = Name.allCases.map(\.rawValue)
    return ConfigurationForm(.list(of: .words(known), 0...Int.max)) { reader in
      var values: [Name] = []
      for entry in reader.isNull ? [] : reader.elements() ?? [] {
        let name = entry.read(as: .string) { name in
          if known.contains(name) { return nil }
          let hint = suggestion(for: name, among: known).map { "did you mean \(quoted($0))?" }
          return "\(quoted(name)) is not \(kind); \(hint ?? "known are \(known.joined(separator: ", "))")"
        }
        if let value = name.flatMap(Name.init), !values.contains(value) { values.append(value) }
      }
      return values
    }
  }
}

/// The words for `client_auth_type`, which are those of Go's crypto/tls.
private enum ClientAuthType: String, CaseIterable {
  case noCertificate = "NoClientCert"
  case request = "RequestClientCert"
  case requireAny = "RequireAnyClientCert"
  case verifyIfGiven = "VerifyClientCertIfGiven"
  case requireAndVerify = "RequireAndVerifyClientCert"

  var verifies: Bool { self == .verifyIfGiven || self == .requireAndVerify }
  var requires: Bool { self == .requireAny || self == .requireAndVerify }

  var settings: TLSSettings.ClientAuth {
    switch self {
    // Without authorities this asks for no certificate.
    case .noCertificate, .requireAndVerify: .required
    case .request: .optionalUnverified
    case .requireAny: .requiredUnverified
    case .verifyIfGiven: .optional
    }
  }
}

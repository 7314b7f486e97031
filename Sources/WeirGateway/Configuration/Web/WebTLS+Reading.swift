import WeirTLS

// The keys have the names and values of exporter-toolkit's tls_server_config. The files are read with the
// configuration, so their problems are problems of it.

extension ConfigurationReader {
  /// - Parameter folder: The configuration file's folder with a slash at its end, where relative paths begin.
  func webTLS(folder: Substring) -> WebTLS? {
    mapping { keys in
      let inline = ["cert", "key", "client_ca"].filter { name in
        keys.take(name)?.report("is not supported; write the PEM to a file and name it in \(name)_file") != nil
      }
      let certificate = keys.file("cert_file", isRequired: !inline.contains("cert"), folder)
      let key = keys.file("key_file", isRequired: !inline.contains("key"), folder)
      let authority = keys.file("client_ca_file", isRequired: false, folder)
      var rules = TLSSettings(certificates: [])
      keys.takeClientRules(&rules, authority: keys.take("client_ca_file"))
      keys.takeProtocol(&rules)
      guard let certificate, let key else { return nil }
      let tls = WebTLS(
        certificateFile: certificate.path, keyFile: key.path, clientCAFile: authority?.path, rules: rules)
      check(tls.files, [certificate.reader, key.reader] + (authority.map { [$0.reader] } ?? []))
      return tls
    }
  }
}

extension ConfigurationKeys {
  /// The path of a file, and the value that names it.
  fileprivate mutating func file(
    _ key: String, isRequired: Bool, _ folder: Substring
  ) -> (path: String, reader: ConfigurationReader)? {
    let reader = isRequired ? take(key, required: "TLS needs a certificate and its key") : take(key)
    guard let reader, let path = reader.read(as: .string, unless: { $0.isEmpty ? "is empty; name a file" : nil })
    else { return nil }
    return (path.hasPrefix("/") ? path : folder + path, reader)
  }

  /// - Parameter authority: The value of `client_ca_file`.
  fileprivate mutating func takeClientRules(_ rules: inout TLSSettings, authority: ConfigurationReader?) {
    let type = take("client_auth_type")
    let names = take("client_allowed_sans")
    var rule = ClientAuthType.noCertificate
    if let type {
      // Nothing is said of keys that would have to fit an unknown word.
      guard let word = type.word(among: ClientAuthType.allCases.map(\.rawValue)).flatMap(ClientAuthType.init)
      else { return }
      rule = word
    }
    rules.clientAuth = rule.settings
    if rule.verifies, authority == nil {
      type?.report("needs client_ca_file, with the authorities whose clients are let in")
    } else if !rule.verifies {
      authority?.report(
        "is of no use with \(rule.rawValue), which verifies no certificate; write "
          + "client_auth_type: RequireAndVerifyClientCert")
    }
    guard let names, let entries = names.isNull ? [] : names.elements() else { return }
    if entries.isEmpty { names.report("is empty, so no client would be let in; leave the key out to let all in") }
    if rule.requires {
      rules.allowedClientNames = Set(entries.compactMap { $0.read(as: .string) })
    } else {
      names.report(
        "with \(rule.rawValue) clients need no certificate; write client_auth_type: RequireAndVerifyClientCert")
    }
  }

  fileprivate mutating func takeProtocol(_ rules: inout TLSSettings) {
    if let version = take("min_version")?.tlsVersion() { rules.minimumVersion = version }
    let newest = take("max_version")
    if let version = newest?.tlsVersion() { rules.maximumVersion = version }
    if rules.minimumVersion == .v1_3, rules.maximumVersion == .v1_2 {
      newest?.report("is older than min_version; exchange the two")
      rules.maximumVersion = .v1_3
    }
    let preference = take("prefer_server_cipher_suites", as: .boolean)
    rules.prefersServerOrder = preference ?? true
    rules.cipherSuites = take("cipher_suites")?.names(TLSCipherSuite.self, "a cipher suite's IANA name") ?? []
    rules.groups = take("curve_preferences")?.names(TLSGroup.self, "a curve") ?? []
  }
}

extension ConfigurationReader {
  fileprivate func tlsVersion() -> TLSSettings.Version? {
    let word = read(as: .string) { word in
      switch word {
      case "TLS12", "TLS13": nil
      case "TLS10", "TLS11", "SSL30": "\(word) is not safe any more; give TLS12 or TLS13"
      default: "give TLS12 or TLS13"
      }
    }
    return word.map { $0 == "TLS13" ? .v1_3 : .v1_2 }
  }

  /// A list of values by their names, each once. An empty list stands for the default.
  fileprivate func names<Value: RawRepresentable & CaseIterable & Equatable>(
    _: Value.Type, _ kind: String
  ) -> [Value] where Value.RawValue == String {
    var values: [Value] = []
    for entry in isNull ? [] : elements() ?? [] {
      let name = entry.read(as: .string) { name in
        if Value(rawValue: name) != nil { return nil }
        let known = Value.allCases.map(\.rawValue)
        let hint = suggestion(for: name, among: known).map { "did you mean \(quoted($0))?" }
        return "\(quoted(name)) is not \(kind); \(hint ?? "known are \(known.joined(separator: ", "))")"
      }
      if let value = name.flatMap(Value.init), !values.contains(value) { values.append(value) }
    }
    return values
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

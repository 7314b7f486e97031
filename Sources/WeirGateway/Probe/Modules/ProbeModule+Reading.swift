import Weir
import WeirCurl
import WeirHTTP

// The keys have the names and meanings of blackbox_exporter 0.23's, and a key without a value is none.

extension ConfigurationReader {
  /// - Parameter folder: The configuration file's folder with a slash at its end, where relative paths begin.
  func probeModule(folder: Substring) -> ProbeModule? {
    mapping { keys in
      var module = ProbeModule()
      let isHTTP = keys.takeProber()
      if let seconds = keys.take("timeout")?.seconds(within: 0...3600), seconds > 0 { module.timeout = seconds }
      let http = keys.take("http")
      if isHTTP {
        http?.take(into: &module, folder: folder)
        module.text = ProbeModuleText.text(of: node)
      }
      return isHTTP ? module : nil
    }
  }

  private func take(into module: inout ProbeModule, folder: Substring) {
    _ = mapping { keys in
      keys.refuseUnsupported()
      keys.takeAnswer(into: &module)
      keys.takeRequest(into: &module)
      keys.takePatterns(into: &module)
      if let flag = keys.take("follow_redirects", as: .boolean) { module.followsRedirects = flag }
      if let flag = keys.take("no_follow_redirects", as: .boolean) { module.followsRedirects = !flag }
      if let flag = keys.take("enable_http2", as: .boolean) { module.allowsHTTP2 = flag }
      if let word = keys.take("preferred_ip_protocol")?.word(among: ["ip4", "ip6"]) {
        module.prefersIPv4 = word == "ip4"
      }
      if let flag = keys.take("ip_protocol_fallback", as: .boolean) { module.fallsBack = flag }
      // Without a proxy it changes nothing.
      _ = keys.take("skip_resolve_phase_with_proxy", as: .boolean)
      module.authorization = keys.takeAuthorization(folder)
      if let tls = keys.take("tls_config")?.probeTLS(folder) { module.tls = tls }
      return ()
    }
  }

  private func probeTLS(_ folder: Substring) -> ProbeModule.TLS? {
    mapping { keys in
      var tls = ProbeModule.TLS()
      tls.caFile = keys.take("ca_file")?.readableFile(folder) { bytes in
        PEM.defect(ofCertificates: bytes, areRoots: true).map { "\($0)" }
      }
      let certificate = keys.take("cert_file"), key = keys.take("key_file")
      tls.certificateFile = certificate?.readableFile(folder) { bytes in
        PEM.defect(ofCertificates: bytes, areRoots: false).map { "\($0)" }
      }
      tls.keyFile = key?.readableFile(folder)
      if key == nil { certificate?.report("needs key_file, with the certificate's key") }
      if certificate == nil { key?.report("is of no use without cert_file") }
      tls.serverName = keys.take("server_name", as: .string) {
        HostSyntax.isName($0.utf8) ? nil : "is not a host name"
      }
      if let flag = keys.take("insecure_skip_verify", as: .boolean) { tls.skipsVerification = flag }
      if let version = keys.take("min_version")?.probeTLSVersion() { tls.minimumVersion = version }
      tls.maximumVersion = keys.take("max_version")?.probeTLSVersion()
      return tls
    }
  }

  private func probeTLSVersion() -> TLSOptions.MinimumVersion? {
    switch word(among: ["TLS10", "TLS11", "TLS12", "TLS13"]) {
    case "TLS10": .tls10
    case "TLS11": .tls11
    case "TLS12": .tls12
    case "TLS13": .tls13
    default: nil
    }
  }

  /// The path of a file that can be read now.
  func readableFile(_ folder: Substring, unless problem: ([UInt8]) -> String? = { _ in nil }) -> String? {
    guard let name = read(as: .string, unless: { $0.isEmpty ? "is empty; name a file" : nil }) else { return nil }
    let path = name.hasPrefix("/") ? name : folder + name
    do throws(ConfigurationError) {
      let bytes = try ConfigurationFile.bytes(of: path, noting: findings.reads)
      guard let text = problem(bytes) else { return path }
      report("\(quoted(path)): \(text)")
    } catch {
      report("\(quoted(path)) \(error.problems.first?.message ?? "can't be read")")
    }
    return nil
  }

  func patterns() -> [Pattern] {
    (elements() ?? []).compactMap { $0.pattern() }
  }

  fileprivate func pattern() -> Pattern? {
    var pattern: Pattern?
    _ = read(as: .string) { text in
      do throws(PatternTranslation.Refusal) {
        pattern = try Pattern(text)
        return nil
      } catch {
        return error.text
      }
    }
    return pattern
  }

  func fieldPatterns() -> [ProbeModule.FieldPattern] {
    (elements() ?? []).compactMap { element in
      element.mapping { keys in
        let name = keys.take("header", required: "name the header field")?.read(as: .string) {
          FieldSyntax.isToken($0.utf8) ? nil : "is not a field name"
        }
        let pattern = keys.take("regexp", required: "give a regular expression")?.pattern()
        let mayBeMissing = keys.take("allow_missing", as: .boolean) ?? false
        guard let name, let pattern else { return nil }
        return ProbeModule.FieldPattern(name: name, pattern: pattern, mayBeMissing: mayBeMissing)
      }
    }
  }
}

extension ConfigurationKeys {
  /// Whether the prober is `http`.
  fileprivate mutating func takeProber() -> Bool {
    let others = ["tcp", "dns", "icmp", "grpc"]
    let reader = take("prober", required: "write prober: http")
    let prober = reader?.read(as: .string) { prober in
      if prober == "http" { return nil }
      let known = others.contains(prober) ? "the prober \(prober) is not supported" : "there is no such prober"
      return "\(known); only http is, so leave this module to blackbox_exporter"
    }
    for other in others {
      let options = take(other)
      if prober != nil { options?.report("belongs to another prober; leave it out") }
    }
    return prober != nil
  }

  fileprivate mutating func refuseUnsupported() {
    for key in ["oauth2", "proxy_url", "proxy_connect_header", "proxy_from_environment", "no_proxy"] {
      take(key)?.report("\(key) is not supported; leave it out, or leave this module to blackbox_exporter")
    }
  }

  fileprivate mutating func takeAnswer(into module: inout ProbeModule) {
    for code in take("valid_status_codes")?.elements() ?? [] {
      if let code = code.count(within: 100...999) { module.validStatusCodes.append(code) }
    }
    for version in take("valid_http_versions")?.elements() ?? [] {
      if let version = version.word(among: ["HTTP/1.0", "HTTP/1.1", "HTTP/2.0"]) {
        module.validVersions.append(version)
      }
    }
    if let flag = take("fail_if_ssl", as: .boolean) { module.failsIfSecure = flag }
    if let flag = take("fail_if_not_ssl", as: .boolean) { module.failsIfPlain = flag }
    let limit = take("body_size_limit")?.read(as: .byteSize)
    if let limit, limit > 0 { module.bodyLimit = limit }
  }

  fileprivate mutating func takeRequest(into module: inout ProbeModule) {
    let method = take("method", as: .string) { FieldSyntax.isToken($0.utf8) || $0.isEmpty ? nil : "is not a method" }
    if let method, !method.isEmpty { module.method = method }
    if let body = take("body", as: .string) { module.body = body }
    var seen: Set<String> = []
    for (name, value) in take("headers")?.entries() ?? [] {
      if !seen.insert(FieldSyntax.lowercased(name)).inserted { value.report("the same field is set twice") }
      let text = value.read(as: .string) { text in
        var block = HeaderBlock()
        block.append(name: name, value: text)
        guard FieldSyntax.isToken(name.utf8) else { return "is not a field name" }
        return FieldSyntax.isValue(text.utf8) ? block.defect : "is not a field's value: it holds a control character"
      }
      if let text { module.headers.append(HeaderRule(name: name, value: text)) }
    }
    takeCompression(into: &module)
  }

  private mutating func takeCompression(into module: inout ProbeModule) {
    guard let reader = take("compression") else { return }
    let word = reader.read(as: .string) { word in
      if word == "br" { return "br is not supported; ask for gzip, or leave this module to blackbox_exporter" }
      return ["", "gzip", "deflate", "identity"].contains(word) ? nil : "give one of gzip, deflate, identity"
    }
    guard let word else { return }
    module.compression = ProbeModule.Compression(rawValue: word)
    guard !word.isEmpty, let field = module.header("Accept-Encoding") else { return }
    let codings = AcceptedCodings(field)
    let isAccepted =
      switch word {
      case "gzip": codings.gzip > .none
      case "deflate": codings.deflate > .none
      default: codings.identity != Quality.none
      }
    if !isAccepted { reader.report("the header Accept-Encoding doesn't accept \(word); name it there") }
  }

  fileprivate mutating func takePatterns(into module: inout ProbeModule) {
    module.bodyMustNotMatch = take("fail_if_body_matches_regexp")?.patterns() ?? []
    module.bodyMustMatch = take("fail_if_body_not_matches_regexp")?.patterns() ?? []
    module.fieldsMustNotMatch = take("fail_if_header_matches")?.fieldPatterns() ?? []
    module.fieldsMustMatch = take("fail_if_header_not_matches")?.fieldPatterns() ?? []
  }

  // MARK: Credentials

  fileprivate mutating func takeAuthorization(_ folder: Substring) -> ProbeModule.Authorization? {
    let basic = take("basic_auth"), scheme = take("authorization")
    let token = take("bearer_token"), tokenFile = take("bearer_token_file")
    let given = [basic, scheme, token, tokenFile].compactMap(\.self)
    for other in given.dropFirst() {
      other.report("is a second credential; give one of basic_auth, authorization, bearer_token, bearer_token_file")
    }
    if let basic { return basic.basicAuthorization(folder) }
    if let scheme { return scheme.schemeAuthorization(folder) }
    if let token { return token.read(as: .string, unless: secretProblem).map { .scheme("Bearer", .text($0)) } }
    return tokenFile?.readableFile(folder).map { .scheme("Bearer", .file($0)) }
  }

  /// One of a secret and the file that holds it.
  fileprivate mutating func takeSecret(_ key: String, _ folder: Substring) -> ProbeModule.Secret? {
    let text = take(key), file = take("\(key)_file")
    if text != nil { file?.report("is given besides \(key); leave one of them out") }
    if let text { return text.read(as: .string, unless: secretProblem).map { .text($0) } }
    return file?.readableFile(folder).map { .file($0) }
  }
}

private func secretProblem(_ text: String) -> String? {
  FieldSyntax.isValue(text.utf8) ? nil : "holds a control character"
}

extension ConfigurationReader {
  fileprivate func basicAuthorization(_ folder: Substring) -> ProbeModule.Authorization? {
    mapping { keys in
      let user = keys.take("username", as: .string) { $0.contains(":") ? "must not hold a colon" : secretProblem($0) }
      let password = keys.takeSecret("password", folder)
      return .basic(user: user ?? "", password: password ?? .text(""))
    }
  }

  fileprivate func schemeAuthorization(_ folder: Substring) -> ProbeModule.Authorization? {
    mapping { keys in
      let scheme = keys.take("type", as: .string) { type in
        if type.lowercased() == "basic" { return "write basic_auth in place of authorization" }
        return FieldSyntax.isToken(type.utf8) ? nil : "is not the name of a scheme"
      }
      guard let secret = keys.takeSecret("credentials", folder) else {
        report("needs credentials or credentials_file")
        return nil
      }
      return .scheme(scheme ?? "Bearer", secret)
    }
  }
}

extension ConfigurationKind<Int64> {
  static var byteSize: Self {
    Self(name: "a size such as 10MB") { scalar in
      switch scalar {
      case .integer(0): 0
      case .string(let text): ByteSize.parse(text)
      default: nil
      }
    }
  }
}

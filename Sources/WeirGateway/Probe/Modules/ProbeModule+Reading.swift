import Weir
import WeirCurl
import WeirHTTP

// The keys have the names and meanings of blackbox_exporter 0.23's, and a key without a value is none.

extension ProbeModule {
  private static let otherProbers = ["tcp", "dns", "icmp", "grpc"]
  private static let unsupported = [
    "oauth2", "proxy_url", "proxy_connect_header", "proxy_from_environment", "no_proxy",
  ]

  static let form: ConfigurationForm<ProbeModule> = ConfigurationMapping(ProbeModule()) {
    Key("prober", prober, missing: .required("write prober: http"), put: { _, _ in })
    Key("timeout", ConfigurationForm<Double>.seconds(0...3600), put: { if $1 > 0 { $0.timeout = $1 } })
    Key(late: "http", http.shape)
    otherProbers.map { Key(late: $0, .text(nil)) }
  }.form { module, given in
    guard given.fitting("prober") != nil else { return nil }
    for other in otherProbers { given[other]?.report("belongs to another prober; leave it out") }
    if let reader = given["http"], let entries = reader.mappingEntries() {
      let given = http.read(reader, entries, into: &module)
      module.authorization = authorization(given)
    }
    module.text = ProbeModuleText.text(of: given.reader.node)
    return module
  }

  private static let prober = ConfigurationForm.text { prober in
    if prober == "http" { return nil }
    let known = otherProbers.contains(prober) ? "the prober \(prober) is not supported" : "there is no such prober"
    return "\(known); only http is, so leave this module to blackbox_exporter"
  }

  private static let http = ConfigurationMapping(ProbeModule()) {
    unsupported.map { name in
      Key(refused: name, "\(name) is not supported; leave it out, or leave this module to blackbox_exporter")
    }
    Key("valid_status_codes", .list(of: .integer(100...999)), \.validStatusCodes)
    Key("valid_http_versions", .list(of: .word(versions.map { ($0, $0) })), \.validVersions)
    Key("fail_if_ssl", .boolean, \.failsIfSecure)
    Key("fail_if_not_ssl", .boolean, \.failsIfPlain)
    Key("body_size_limit", byteSize, put: { if $1 > 0 { $0.bodyLimit = $1 } })
    Key("method", method, put: { if !$1.isEmpty { $0.method = $1 } })
    Key("body", .text(), \.body)
    Key("headers", fields, \.headers)
    Key("compression", .text(nil)) { reader, module in
      module.compression = reader.compression(beside: module.header("Accept-Encoding"))
      return true
    }
    Key("fail_if_body_matches_regexp", .list(of: pattern), \.bodyMustNotMatch)
    Key("fail_if_body_not_matches_regexp", .list(of: pattern), \.bodyMustMatch)
    Key("fail_if_header_matches", .list(of: fieldPattern), \.fieldsMustNotMatch)
    Key("fail_if_header_not_matches", .list(of: fieldPattern), \.fieldsMustMatch)
    Key("follow_redirects", .boolean, \.followsRedirects)
    Key("no_follow_redirects", ConfigurationForm<Bool>.boolean, put: { $0.followsRedirects = !$1 })
    Key("enable_http2", .boolean, \.allowsHTTP2)
    Key("preferred_ip_protocol", .word([("ip4", true), ("ip6", false)]), \.prefersIPv4)
    Key("ip_protocol_fallback", .boolean, \.fallsBack)
    // Without a proxy it changes nothing.
    Key("skip_resolve_phase_with_proxy", ConfigurationForm<Bool>.boolean, put: { _, _ in })
    credentials.map { Key(late: $0, .text(nil)) }
    Key("tls_config", TLS.form, \.tls)
  }

  private static let versions = ["HTTP/1.0", "HTTP/1.1", "HTTP/2.0"]

  private static let byteSize = ConfigurationForm<Int64>(.text(nil)) { reader in
    reader.read(
      as: ConfigurationKind(name: "a size such as 10MB") { scalar in
        switch scalar {
        case .integer(0): 0
        case .string(let text): ByteSize.parse(text)
        default: nil
        }
      })
  }

  private static let method = ConfigurationForm.text {
    FieldSyntax.isToken($0.utf8) || $0.isEmpty ? nil : "is not a method"
  }

  private static let fields = ConfigurationForm<[HeaderRule]>(.entries(of: .text(nil), 0...Int.max)) { reader in
    var seen: Set<String> = []
    return reader.entries()?.compactMap { name, value in
      if !seen.insert(FieldSyntax.lowercased(name)).inserted { value.report("the same field is set twice") }
      let text = value.read(as: .string) { text in
        var block = HeaderBlock()
        block.append(name: name, value: text)
        guard FieldSyntax.isToken(name.utf8) else { return "is not a field name" }
        return FieldSyntax.isValue(text.utf8) ? block.defect : "is not a field's value: it holds a control character"
      }
      return text.map { HeaderRule(name: name, value: $0) }
    }
  }

  private static let pattern = ConfigurationForm<Pattern>(.text(nil)) { $0.parse(Pattern.init) }

  private static let fieldPattern: ConfigurationForm<FieldPattern> = ConfigurationMapping(ReadFieldPattern()) {
    Key(
      "header", .text { FieldSyntax.isToken($0.utf8) ? nil : "is not a field name" }, \.name,
      missing: .required("name the header field"))
    Key("regexp", pattern, \.pattern, missing: .required("give a regular expression"))
    Key("allow_missing", .boolean, \.mayBeMissing)
  }.form { read, _ in
    guard let name = read.name, let pattern = read.pattern else { return nil }
    return FieldPattern(name: name, pattern: pattern, mayBeMissing: read.mayBeMissing)
  }
}

private struct ReadFieldPattern {
  var name: String?
  var pattern: Pattern?
  var mayBeMissing = false
}

extension ConfigurationReader {
  /// - Parameter accepted: The value of Accept-Encoding among the module's header fields.
  fileprivate func compression(beside accepted: String?) -> ProbeModule.Compression? {
    let word = read(as: .string) { word in
      if word == "br" { return "br is not supported; ask for gzip, or leave this module to blackbox_exporter" }
      return ["", "gzip", "deflate", "identity"].contains(word) ? nil : "give one of gzip, deflate, identity"
    }
    guard let word, !word.isEmpty else { return nil }
    if let accepted {
      let codings = AcceptedCodings(accepted)
      let isAccepted =
        switch word {
        case "gzip": codings.gzip > .none
        case "deflate": codings.deflate > .none
        default: codings.identity != Quality.none
        }
      if !isAccepted { report("the header Accept-Encoding doesn't accept \(word); name it there") }
    }
    return ProbeModule.Compression(rawValue: word)
  }
}

// MARK: TLS

extension ProbeModule.TLS {
  fileprivate static let form: ConfigurationForm<Self> = ConfigurationMapping(Self()) {
    Key("ca_file", .readableFile { defect(of: $0, areRoots: true) }, \.caFile)
    Key("cert_file", .readableFile { defect(of: $0, areRoots: false) }, \.certificateFile)
    Key("key_file", .readableFile(), \.keyFile)
    Key("server_name", .text { HostSyntax.isName($0.utf8) ? nil : "is not a host name" }, \.serverName)
    Key("insecure_skip_verify", .boolean, \.skipsVerification)
    Key("min_version", .word(versions), \.minimumVersion)
    Key("max_version", .word(versions), \.maximumVersion)
  }.form { tls, given in
    if !given.has("key_file") { given["cert_file"]?.report("needs key_file, with the certificate's key") }
    if !given.has("cert_file") { given["key_file"]?.report("is of no use without cert_file") }
    return tls
  }

  private static let versions: [(word: String, value: TLSOptions.MinimumVersion)] = [
    ("TLS10", .tls10), ("TLS11", .tls11), ("TLS12", .tls12), ("TLS13", .tls13),
  ]

  @Sendable private static func defect(of certificates: [UInt8], areRoots: Bool) -> String? {
    PEM.defect(ofCertificates: certificates, areRoots: areRoots).map { "\($0)" }
  }
}

extension ConfigurationForm<String> {
  /// The path of a file that can be read now.
  fileprivate static func readableFile(unless problem: @escaping @Sendable ([UInt8]) -> String? = { _ in nil }) -> Self
  {
    Self(fileFromFolder.shape) { reader in
      guard let path = fileFromFolder.read(reader), let bytes = reader.bytes(ofFile: path) else { return nil }
      guard let text = problem(bytes) else { return path }
      reader.report("\(quoted(path)): \(text)")
      return nil
    }
  }
}

// MARK: Credentials

extension ProbeModule {
  private static let credentials = ["basic_auth", "authorization", "bearer_token", "bearer_token_file"]

  private static func authorization(_ given: ConfigurationGiven) -> Authorization? {
    for other in credentials.compactMap({ given[$0] }).dropFirst() {
      other.report("is a second credential; give one of \(credentials.joined(separator: ", "))")
    }
    if let reader = given["basic_auth"] { return basic.read(reader) }
    if let reader = given["authorization"] { return scheme.read(reader) }
    if let reader = given["bearer_token"] {
      return reader.read(as: .string, unless: problem(secret:)).map { .scheme("Bearer", .text($0)) }
    }
    return given["bearer_token_file"].flatMap(readableFile.read).map { .scheme("Bearer", .file($0)) }
  }

  private static let basic: ConfigurationForm<Authorization> = ConfigurationMapping("") {
    Key("username", .text { $0.contains(":") ? "must not hold a colon" : problem(secret: $0) }, \.self)
    ["password", "password_file"].map { Key(late: $0, .text(nil)) }
  }.form { user, given in
    .basic(user: user, password: secret("password", given) ?? .text(""))
  }

  private static let scheme: ConfigurationForm<Authorization> = ConfigurationMapping("Bearer") {
    Key("type", .text(unless: problem(scheme:)), \.self)
    ["credentials", "credentials_file"].map { Key(late: $0, .text(nil)) }
  }.form { scheme, given in
    guard let secret = secret("credentials", given) else {
      given.reader.report("needs credentials or credentials_file")
      return nil
    }
    return .scheme(scheme, secret)
  }

  private static let readableFile = ConfigurationForm.readableFile()

  /// One of a secret and the file that holds it.
  private static func secret(_ key: String, _ given: ConfigurationGiven) -> Secret? {
    let text = given[key], file = given["\(key)_file"]
    if text != nil { file?.report("is given besides \(key); leave one of them out") }
    if let text { return text.read(as: .string, unless: problem(secret:)).map { .text($0) } }
    return file.flatMap(readableFile.read).map { .file($0) }
  }

  private static func problem(secret text: String) -> String? {
    FieldSyntax.isValue(text.utf8) ? nil : "holds a control character"
  }

  @Sendable private static func problem(scheme: String) -> String? {
    if scheme.lowercased() == "basic" { return "write basic_auth in place of authorization" }
    return FieldSyntax.isToken(scheme.utf8) ? nil : "is not the name of a scheme"
  }
}

/// A size in blackbox_exporter's form, such as `10MB`: units are powers of 1024, whether they are written `MB` or `MiB`.
enum ByteSize {
  static func parse(_ text: String) -> Int64? {
    if text == "0" { return 0 }
    var rest = text[...]
    var total = 0.0
    guard !rest.isEmpty else { return nil }
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && $0.isNumber || $0 == "." }
      rest = rest[digits.endIndex...]
      let unit = rest.prefix { $0.isASCII && $0.isLetter }
      rest = rest[unit.endIndex...]
      guard let number = Double(digits), let power = powers[String(unit)] else { return nil }
      total += (0..<power).reduce(number) { value, _ in value * 1024 }
    }
    return total < 9e18 ? Int64(total) : nil
  }

  private static let powers = [
    "B": 0, "KB": 1, "KiB": 1, "MB": 2, "MiB": 2, "GB": 3, "GiB": 3, "TB": 4, "TiB": 4, "PB": 5, "PiB": 5, "EB": 6,
    "EiB": 6,
  ]
}

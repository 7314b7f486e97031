import Weir
import WeirCurl
import WeirHTTP
import WeirIO

/// A request of a probe: the first one, or one that a redirect leads to.
struct ProbeHop {
  let url: ProbeURL
  let method: String
  let sendsBody: Bool
  /// The address to ask; nil for one that is looked up anew, at the end of a redirect to another place.
  let pin: IPAddress?
  /// Whether the request goes to the target's own host, so that it may have the module's credentials.
  var isAtTarget = true

  /// The request that a redirect leads to; nil for one to no URL that can be asked.
  func redirected(to location: String, status: Int) -> ProbeHop? {
    guard let (next, isRelative) = url.redirect(to: location) else { return nil }
    let keepsMethod = status == 307 || status == 308 || method == "HEAD"
    let isSafe = next.host == url.host && (next.isSecure || !url.isSecure)
    return ProbeHop(
      url: next, method: keepsMethod ? method : "GET", sendsBody: sendsBody && (status == 307 || status == 308),
      pin: isRelative ? pin : nil, isAtTarget: isAtTarget && (isRelative || isSafe))
  }

  // MARK: The request

  /// The value of the Host field: the module's own at the target, else the URL's.
  func hostField(_ module: ProbeModule) -> String {
    pin == nil ? url.authority : module.header("Host") ?? url.authority
  }

  func spec(_ module: ProbeModule, policy: DestinationPolicy) -> TransferSpec {
    var spec = TransferSpec(url: url.text)
    spec.method = method
    if sendsBody, !module.body.isEmpty {
      spec.body = .bytes(Array(module.body.utf8))
    } else {
      // A request without a body says so, unless its method has none by nature (RFC 9110 §8.6).
      spec.body = method == "GET" || method == "HEAD" ? .none : .bytes([UInt8]())
    }
    spec.trust = TransferTrust(module.tls.options, serverName: serverName(module))
    if let pin { spec.endpoint = TransferEndpoint(.host("\(pin)", port: url.port)) }
    spec.addressPolicy = policy.rules
    spec.rules = TransferRules(httpVersion: module.allowsHTTP2 ? .http2 : .http1_1)
    return spec
  }

  /// The name for TLS in place of the URL's host.
  private func serverName(_ module: ProbeModule) -> String? {
    guard pin != nil else { return nil }
    if let name = module.tls.serverName { return name }
    guard let host = module.header("Host") else { return nil }
    let name = host.prefix { $0 != ":" }
    return HostSyntax.isName(name.utf8) ? String(name) : nil
  }

  /// - Parameter cookies: The Cookie field's value.
  func headers(_ module: ProbeModule, cookies: String?) throws(ProbeProblem) -> PreparedHeaders {
    var block = HeaderBlock()
    block.append(name: "Host", value: hostField(module))
    if module.header("User-Agent") == nil { block.append(name: "User-Agent", value: "weir/\(WeirInfo.version)") }
    for header in module.headers where !FieldSyntax.isSameName(header.name, "Host") {
      if !isAtTarget, Redaction.isSecretField(header.name) { continue }
      block.append(name: header.name, value: header.value)
    }
    if isAtTarget, module.header("Authorization") == nil, let value = try authorization(module) {
      block.append(name: "Authorization", value: value)
    }
    if let cookies { block.append(name: "Cookie", value: cookies) }
    if let defect = block.defect { throw ProbeProblem(defect) }
    return PreparedHeaders(block)
  }

  private func authorization(_ module: ProbeModule) throws(ProbeProblem) -> String? {
    if let (user, password) = url.credential { return Self.basic(user, password) }
    switch module.authorization {
    case .basic(let user, let password): return Self.basic(user, try Self.read(password))
    case .scheme(let scheme, let secret): return "\(scheme) \(try Self.read(secret))"
    case nil: return nil
    }
  }

  private static func basic(_ user: String, _ password: String) -> String {
    "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())"
  }

  private static func read(_ secret: ProbeModule.Secret) throws(ProbeProblem) -> String {
    switch secret {
    case .text(let text): return text
    case .file(let path):
      do throws(SmallFile.Failure) {
        let text = String(decoding: try SmallFile.bytes(of: path, limit: 64 * 1024), as: UTF8.self)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
      } catch {
        throw ProbeProblem("\(path): \(error.text)")
      }
    }
  }
}

/// The cookies that a probe was given on its way, for later requests to the same host.
struct ProbeCookies {
  private var cookies: [(host: String, name: Substring, pair: Substring, isSecure: Bool)] = []
  /// More are forgotten.
  private static let limit = 50

  mutating func keep(_ head: ResponseHead, from url: ProbeURL) {
    for value in head.values(ofField: "Set-Cookie") where value.utf8.count <= 4096 {
      let parts = value.split(separator: ";", omittingEmptySubsequences: false)
      let pair = parts[0].trimmingPrefix { $0 == " " }
      guard let equals = pair.firstIndex(of: "="), equals != pair.startIndex else { continue }
      let name = pair[..<equals]
      let isSecure = parts.dropFirst().contains { $0.trimmingCharacters(in: .whitespaces).lowercased() == "secure" }
      cookies.removeAll { $0.host == url.host && $0.name == name }
      guard cookies.count < Self.limit else { return }
      cookies.append((url.host, name, pair, isSecure))
    }
  }

  /// The value of the Cookie field; nil without a cookie.
  func field(for url: ProbeURL) -> String? {
    let pairs = cookies.filter { $0.host == url.host && (url.isSecure || !$0.isSecure) }.map(\.pair)
    return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
  }
}

/// The URL of a probe's request.
struct ProbeURL: Equatable {
  let isSecure: Bool
  /// In canonical form; an IPv6 address has no brackets.
  let host: String
  /// Any number: one that is no port makes the request fail.
  let port: Int
  /// The Host field's value: with a port if the URL has one.
  let authority: String
  /// The absolute URL, without user name, password and fragment.
  let text: String
  /// The user name and password.
  let credential: (user: String, password: String)?
  private let url: URL

  /// Reads a target; one without a scheme is an `http` one.
  init?(target: String) {
    let hasScheme = target.hasPrefix("http://") || target.hasPrefix("https://")
    self.init(hasScheme ? target : "http://" + target)
  }

  private init?(_ text: String) {
    guard let url = URL(text: text) else { return nil }
    self.init(url)
  }

  private init?(_ url: URL) {
    guard let parts = URLComponents(url: url.absoluteURL, resolvingAgainstBaseURL: true),
      let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https", var host = parts.encodedHost
    else { return nil }
    if host.hasPrefix("[") { host = String(host.dropFirst().dropLast()) }
    let canonical = CanonicalHost(host)
    guard !canonical.text.isEmpty else { return nil }
    isSecure = scheme == "https"
    self.host = canonical.text
    port = parts.port ?? (isSecure ? 443 : 80)
    authority = canonical.inURL + (parts.port.map { ":\($0)" } ?? "")
    let path = parts.percentEncodedPath
    let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
    self.text = "\(scheme)://\(authority)\(path.isEmpty ? "/" : path)\(query)"
    credential = parts.user.map { ($0, parts.password ?? "") }
    self.url = url.absoluteURL
  }

  /// The URL of a redirect, and whether it stays at the same authority because it names none; nil for one that can't be
  /// followed.
  func redirect(to location: String) -> (url: ProbeURL, isRelative: Bool)? {
    let location = location.trimmingCharacters(in: .whitespaces)
    guard let target = URL(text: location, relativeTo: url), let next = ProbeURL(target) else { return nil }
    return (next, URL(text: location)?.host() == nil)
  }

  static func == (left: ProbeURL, right: ProbeURL) -> Bool { left.text == right.text }
}

internal import Glibc
import WeirIO

/// The proxies that environment variables name, as curl reads them: `http_proxy`, in small letters alone, since a CGI
/// program's clients decide on `HTTP_PROXY`; `https_proxy` and `all_proxy`; and the exceptions in `no_proxy`. The last three
/// may be in capitals too.
///
/// A proxy is `http://`, `https://`, `socks5://` or `socks5h://`, a user name and password with `@` if it wants them, host and
/// port. Without a scheme it is an HTTP proxy; without a port the port is 1080, or 443 for `https`.
package final class ProxyEnvironment: Sendable, Hashable {
  /// The environment of this process, read once.
  package static let process = ProxyEnvironment { getenv($0).map { String(cString: $0) } }

  private let plain: TransferProxy?
  private let secure: TransferProxy?
  private let exceptions: ProxyExceptions
  /// Why a variable can't be used; nil if all can. It does not show the value, which may hold a password.
  package let defect: String?

  /// - Parameter variable: Returns the value of a variable, if there is one.
  package init(_ variable: (String) -> String?) {
    var defect: String?
    func first(of names: [String]) -> (name: String, value: String)? {
      for name in names { if let value = variable(name), !value.isEmpty { return (name, value) } }
      return nil
    }
    func proxy(_ names: [String]) -> TransferProxy? {
      guard let (name, value) = first(of: names) else { return nil }
      let proxy = Self.proxy(value)
      if proxy == nil { defect = "\(name) is no proxy that can be used, such as http://proxy.example:3128" }
      return proxy
    }
    let others = ["all_proxy", "ALL_PROXY"]
    plain = proxy(["http_proxy"] + others)
    secure = proxy(["https_proxy", "HTTPS_PROXY"] + others)
    exceptions = ProxyExceptions(first(of: ["no_proxy", "NO_PROXY"])?.value ?? "")
    self.defect = defect
  }

  /// The proxy on the way to a host, which may be in brackets; nil for a direct connection.
  package func proxy(to host: Substring, port: Int, isSecure: Bool) -> TransferProxy? {
    guard let proxy = isSecure ? secure : plain, !exceptions.contain(host, port: port) else { return nil }
    return proxy
  }

  package var proxies: [TransferProxy] { [plain, secure].compactMap(\.self) }

  /// The proxies in words, for each scheme; without credentials.
  package var summary: [(scheme: String, proxy: String)] {
    [("http", plain?.name ?? "none"), ("https", secure?.name ?? "none")]
  }

  package static func == (left: ProxyEnvironment, right: ProxyEnvironment) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// Nil if the text is no proxy.
  private static func proxy(_ text: String) -> TransferProxy? {
    let url = text.contains("://") ? text : "http://" + text
    guard let parts = CurlURL.Parts(url), let kind = TransferProxy.Kind(rawValue: parts.scheme), !parts.host.isEmpty
    else { return nil }
    let credential = parts.user.map {
      BasicProxyCredential(TransferCredential(user: $0, password: parts.password ?? ""))
    }
    return TransferProxy(
      kind, host: parts.host, port: parts.port ?? (kind == .https ? 443 : 1080), credential: credential)
  }
}

/// A host, perhaps with a port behind it.
private struct HostAndPort {
  /// Without brackets.
  let host: Substring
  let port: Int?

  /// Nil if the host is empty, or the port is none.
  init?(_ text: Substring) {
    var end = text.firstIndex(of: ":") ?? text.endIndex
    if text.first == "[" {
      guard let bracket = text.firstIndex(of: "]") else { return nil }
      host = text[..<bracket].dropFirst()
      end = text.index(after: bracket)
    } else {
      host = text[..<end]
    }
    guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 32 && $0 != 127 }) else { return nil }
    let rest = text[end...]
    guard !rest.isEmpty else {
      port = nil
      return
    }
    guard rest.first == ":", let number = Int(rest.dropFirst()), (1...65_535).contains(number) else { return nil }
    port = number
  }
}

/// The hosts to which no proxy leads: names with all names below them, addresses, networks; each perhaps with a port.
struct ProxyExceptions: Sendable, Hashable {
  private struct Entry: Hashable {
    /// A name in small letters, without dots at its ends; empty for a network.
    var name = ""
    var network: IPNetwork?
    var port: Int?
  }

  private var entries: [Entry] = []
  /// Whether no host has a proxy.
  private var haveAll = false

  /// - Parameter text: Entries that commas or blanks separate; `*` alone stands for all hosts.
  init(_ text: String) {
    for part in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
      if part == "*" { haveAll = true } else if let entry = Self.entry(part) { entries.append(entry) }
    }
  }

  func contain(_ host: Substring, port: Int) -> Bool {
    if haveAll { return true }
    if entries.isEmpty { return false }
    let bare = host.first == "[" ? host.dropFirst().dropLast() : host
    let address = IPAddress(host: bare)
    let name = Self.bare(bare)
    return entries.contains { entry in
      if let wanted = entry.port, wanted != port { return false }
      if let network = entry.network { return address.map { network.contains($0) } ?? false }
      return address == nil && (name == entry.name || name.hasSuffix(".\(entry.name)"))
    }
  }

  private static func entry(_ text: Substring) -> Entry? {
    do throws(IPNetworkError) {
      return Entry(network: try IPNetwork(parsing: String(text)))
    } catch {
      // Bits behind the prefix are left out, as by curl.
      if case .hasHostBits(let network) = error.problem { return Entry(network: network) }
    }
    guard let place = HostAndPort(text) else { return nil }
    if let address = IPAddress(host: place.host) {
      return Entry(network: IPNetwork(address, prefixLength: 128), port: place.port)
    }
    let name = bare(place.host)
    return name.isEmpty ? nil : Entry(name: name, port: place.port)
  }

  private static func bare(_ name: Substring) -> String {
    var name = name[...]
    if name.hasPrefix("*.") { name = name.dropFirst() }
    while name.first == "." { name = name.dropFirst() }
    if name.last == "." { name = name.dropLast() }
    return name.lowercased()
  }
}

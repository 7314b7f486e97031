import WeirHTTP
import WeirIO

/// The groups of routes by host. A group stands for one name, for all names below one, or for every host. Immutable.
struct HostIndex: Sendable {
  private struct Group {
    /// The name, without the `*.` of a wildcard.
    let name: [UInt8]
    /// The group that is tried if no route of this one matches; −1 if there is none.
    var next = -1

    func isNamed(_ host: Span<UInt8>) -> Bool { host.equalsIgnoringCase(name.span) }
  }

  /// The group of every host.
  static let anyHost = 0

  private var groups = [Group(name: [])]
  /// The groups by the hash of their name.
  private var names: [UInt64: [Int]] = [:]
  private var wildcards: [UInt64: [Int]] = [:]
  /// The most labels that a wildcard's name has.
  private var mostLabels = 0
  /// Whether a host is an address, which a request may write in another form.
  private var hasAddresses = false

  /// - Parameter hosts: The hosts in canonical form, in any order.
  init(_ hosts: [String]) {
    // The shorter wildcards come first, since they are the next group of longer ones.
    let suffixes = Set(hosts.compactMap(RouteHost.suffix)).sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
    for suffix in suffixes {
      let name = Array(suffix.utf8)
      let next = wildcard(of: name.span)
      wildcards[Self.hash(name.span), default: []].append(groups.count)
      mostLabels = max(mostLabels, name.count { $0 == UInt8(ascii: ".") } + 1)
      groups.append(Group(name: name, next: next))
    }
    for host in Set(hosts).sorted() where RouteHost.suffix(host) == nil {
      let name = Array(host.utf8)
      hasAddresses = hasAddresses || IPAddress(host: host) != nil
      names[Self.hash(name.span), default: []].append(groups.count)
      groups.append(Group(name: name, next: wildcard(of: name.span)))
    }
  }

  var count: Int { groups.count }

  /// The group of a host of the configuration.
  func group(named host: String) -> Int? {
    let suffix = RouteHost.suffix(host)
    let name = Array((suffix ?? host[...]).utf8)
    return find(name.span, in: suffix == nil ? names : wildcards)
  }

  /// The group whose routes are tried first for a request.
  func group(of authority: Span<UInt8>) -> Int {
    if groups.count == 1 { return Self.anyHost }
    let host = authority.extracting(..<RequestAuthority.hostLength(authority))
    if let group = find(host, in: names) { return group }
    if let group = groupOfAddress(host) { return group }
    return wildcard(of: host)
  }

  /// The group that is tried when no route of `group` matches; −1 if there is none.
  func next(after group: Int) -> Int { groups[group].next }

  private func find(_ name: Span<UInt8>, in table: [UInt64: [Int]]) -> Int? {
    table.isEmpty ? nil : find(name, hash: Self.hash(name), in: table)
  }

  private func find(_ name: Span<UInt8>, hash: UInt64, in table: [UInt64: [Int]]) -> Int? {
    table[hash]?.first { groups[$0].isNamed(name) }
  }

  /// The group of an address in another form than the configuration's canonical one.
  private func groupOfAddress(_ host: Span<UInt8>) -> Int? {
    guard hasAddresses else { return nil }
    let text = host.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    guard IPAddress(host: text) != nil else { return nil }
    let name = Array(CanonicalHost(text).inURL.utf8)
    return find(name.span, in: names)
  }

  /// The group of the longest wildcard below which a host is, or else that of every host.
  private func wildcard(of host: Span<UInt8>) -> Int {
    var group = Self.anyHost
    if wildcards.isEmpty { return group }
    var hash = Self.emptyHash
    var labels = 0
    var index = host.count - 1
    // A wildcard stands for at least one octet.
    while index > 0 {
      if host[index] == UInt8(ascii: ".") {
        group = find(host.extracting((index + 1)...), hash: hash, in: wildcards) ?? group
        labels += 1
        if labels == mostLabels { break }
      }
      hash = Self.hash(hash, host[index])
      index -= 1
    }
    return group
  }

  /// FNV-1a of the lower-cased bytes, from the last to the first. Only the configuration's hosts are in the tables, so a
  /// client can't fill a bucket.
  private static func hash(_ bytes: Span<UInt8>) -> UInt64 {
    var hash = emptyHash
    for index in bytes.indices.reversed() { hash = Self.hash(hash, bytes[index]) }
    return hash
  }

  private static let emptyHash: UInt64 = 0xcbf2_9ce4_8422_2325

  private static func hash(_ hash: UInt64, _ octet: UInt8) -> UInt64 {
    (hash ^ UInt64(octet.lowercased)) &* 0x100_0000_01b3
  }
}

/// The hosts of routes.
enum RouteHost {
  /// The reason why the text is not a host, with or without a wildcard; nil if it is one.
  static func problem(_ text: String) -> String? {
    if text == "*" { return "leave host out to match every host" }
    guard text.contains("*") else { return problem(ofName: text) }
    let name = String(text.dropFirst(2))
    guard text.hasPrefix("*."), !name.contains("*"), !isIPv6Address(name) else {
      return "must have its wildcard in front of a name, such as *.example.com"
    }
    return problem(ofName: name)
  }

  /// The reason why the text is not a host; nil if it is one.
  static func problem(ofName text: String) -> String? {
    if isIPv6Address(text) { return nil }
    if text.contains(":") { return "must be a host name without port and path, such as api.example.com" }
    return HostSyntax.isName(text.utf8) ? nil : "\(quoted(text)) is not a host name"
  }

  /// Whether the text is an IPv6 address, in brackets or without: there is no port from which they would tell it apart.
  private static func isIPv6Address(_ text: String) -> Bool {
    let hasBrackets = text.hasPrefix("[") && text.hasSuffix("]")
    return Upstream.isIPv6Address(hasBrackets ? text.dropFirst().dropLast() : text[...])
  }

  /// The host in canonical form, without the dot of a fully qualified name; an IPv6 address is in brackets.
  static func normalized(_ text: String) -> String {
    CanonicalHost(CanonicalHost(text).withoutFinalDot).inURL
  }

  /// The labels behind `*.`; nil for a host without a wildcard.
  static func suffix(_ host: String) -> Substring? { host.hasPrefix("*.") ? host.dropFirst(2) : nil }
}

/// The parts of the host and port that a client asked for: `example.com.:8080`, `[::1]`.
enum RequestAuthority {
  /// The length of the host at the beginning, without the dot of a fully qualified name.
  static func hostLength(_ authority: Span<UInt8>) -> Int {
    let length = end(ofHost: authority)
    return length > 1 && authority[length - 1] == UInt8(ascii: ".") ? length - 1 : length
  }

  /// The port with its colon; empty if there is none.
  static func port(_ authority: Span<UInt8>) -> Range<Int> {
    let end = end(ofHost: authority)
    return authority.count - end > 1 ? end..<authority.count : authority.count..<authority.count
  }

  private static func end(ofHost authority: Span<UInt8>) -> Int {
    if !authority.isEmpty, authority[0] == UInt8(ascii: "["),
      let bracket = authority.firstIndex(of: UInt8(ascii: "]"))
    {
      return bracket + 1
    }
    return authority.firstIndex(of: .colon) ?? authority.count
  }
}

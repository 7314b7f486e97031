import WeirHTTP
internal import WeirIO

/// The version of HTTP that a connection speaks, as far as it is known.
enum ProtocolExpectation: UInt8 {
  case http1
  /// HTTP/2, whose connections several transfers share.
  case multiplexed
  case unknown
}

/// The version of HTTP that each origin, or each of its endpoints, last spoke: a hint, since the next connection may
/// speak another version. A value, bounded: when it is full it starts again empty, which costs each origin a connection
/// or two.
struct ProtocolMemory {
  private struct Origin: Hashable {
    let text: String
    /// With another name, another server may answer at the same address.
    let serverName: String?
    /// The place that was connected to in its stead.
    let endpoint: TransferEndpoint?

    init(text: String, _ spec: TransferSpec) {
      self.text = text
      serverName = spec.trust?.serverName
      endpoint = spec.endpoint
    }
  }

  private static let limit = 1024
  /// Seconds for which an origin is known to speak HTTP/1.
  private static let lifetimeOfHTTP1 = 600.0

  private var known: [Origin: ProtocolExpectation] = [:]
  /// When an origin last answered by HTTP/1.
  private var http1Since: [Origin: MonotonicTime] = [:]
  private var last: (origin: Origin, expectation: ProtocolExpectation)?

  var count: Int { known.count }

  mutating func expectation(of spec: TransferSpec) -> ProtocolExpectation {
    if let last, Self.isOrigin(last.origin, of: spec) { return last.expectation }
    guard let origin = Self.origin(of: spec), let expectation = known[origin] else { return .unknown }
    last = (origin, expectation)
    return expectation
  }

  /// Whether the origin has lately answered by HTTP/1.
  func speaksHTTP1(_ spec: TransferSpec, at now: MonotonicTime) -> Bool {
    guard let origin = Self.origin(of: spec), let since = http1Since[origin] else { return false }
    return now.seconds(since: since) < Self.lifetimeOfHTTP1
  }

  /// The origin has answered by HTTP/1.
  mutating func noteHTTP1(_ spec: TransferSpec, at now: MonotonicTime) {
    guard let origin = Self.origin(of: spec) else { return }
    if http1Since.count >= Self.limit, http1Since[origin] == nil { http1Since.removeAll() }
    http1Since[origin] = now
  }

  mutating func note(_ expectation: ProtocolExpectation, of spec: TransferSpec) {
    if let last, last.expectation == expectation, Self.isOrigin(last.origin, of: spec) { return }
    guard let origin = Self.origin(of: spec) else { return }
    if known.count >= Self.limit, known[origin] == nil { known.removeAll() }
    known[origin] = expectation
    last = (origin, expectation)
  }

  /// Scheme and authority as the URL spells them; nil with userinfo, so that no password is kept.
  private static func origin(of spec: TransferSpec) -> Origin? {
    let url = spec.url
    guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let rest = url.utf8[colon...].dropFirst(3)
    let authority = rest.prefix { !URLSyntax.endsAuthority($0) }
    guard !authority.isEmpty, !authority.contains(UInt8(ascii: "@")) else { return nil }
    return Origin(text: String(url[..<authority.endIndex]), spec)
  }

  private static func isOrigin(_ origin: Origin, of spec: TransferSpec) -> Bool {
    guard spec.url.hasPrefix(origin.text), origin.serverName == spec.trust?.serverName, origin.endpoint == spec.endpoint
    else { return false }
    return spec.url.utf8.dropFirst(origin.text.utf8.count).first.map(URLSyntax.endsAuthority) ?? true
  }
}

extension TransferEngine {
  /// The versions that a transfer may use.
  func version(of spec: TransferSpec) -> PreparedVersion {
    spec.rules?.httpVersion.map(PreparedVersion.init) ?? prepared.version
  }

  /// Whether another engine goes on if the transfer's origin answers by HTTP/1.
  func leavesHTTP1(to transfer: Transfer) -> Bool {
    leavesHTTP1 && transfer.spec.rules?.httpVersion ?? options.httpVersion == .automatic
  }

  /// Whether the transfer's origin was last seen to speak HTTP/2.
  func isKnownToMultiplex(_ transfer: Transfer) -> Bool {
    transfer.mayMultiplex
      && protocols.expectation(of: transfer.spec) == .multiplexed
  }

  /// The final head of a transfer has come.
  func note(_ version: HTTPVersionNumber, of transfer: Transfer) {
    guard transfer.mayMultiplex else { return }
    transfer.expectation = version.major >= 2 ? .multiplexed : .http1
    protocols.note(transfer.expectation, of: transfer.spec)
    guard transfer.expectation == .http1, leavesHTTP1(to: transfer) else { return }
    protocols.noteHTTP1(transfer.spec, at: now)
  }

  /// Whether the request's origin has lately answered by HTTP/1, where HTTP/2 was possible.
  package func speaksHTTP1(_ spec: TransferSpec) -> Bool {
    protocols.speaksHTTP1(spec, at: loop.turnTime)
  }
}

extension Transfer {
  /// The request is about to be written. The protocol of its connection is known if there was no choice, or if the
  /// handshake has made it.
  func expectProtocol() {
    guard mayMultiplex else { return }
    // If the handshake has agreed on nothing, libcurl speaks HTTP/1.1, except with prior knowledge.
    let silence: ProtocolExpectation = engine.version(of: spec).mayMultiplexPlain ? .unknown : .http1
    expectation = handle.map { AgreedProtocol.expectation($0.easy, ofSilence: silence) } ?? .unknown
  }
}

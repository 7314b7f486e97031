import Weir
import WeirCurl
import WeirHTTP
import WeirIO

/// One check under way. Confined to the loop.
final class CheckRun {
  private let check: EndpointCheck
  private let loop: EventLoop
  private let advice: TransferAdvice
  private var answer = CheckAnswer()
  private var transfer: (any TransferHandle)?
  private var dial: Dial?
  private let timer = LoopTimer()
  /// Whether a proxy is on the way, and whether the endpoint speaks TLS.
  private let isProxied: Bool
  private let isSecure: Bool
  /// Nil once the check has ended.
  private var onEnd: ((CheckOutcome?) -> Void)?

  /// Begins a check.
  ///
  /// - Parameter onEnd: Hears the outcome, never from within this call; nil if it says nothing about the endpoint.
  init(
    _ spec: TransferSpec, _ headers: PreparedHeaders, _ check: EndpointCheck, by engines: Engines,
    advice: TransferAdvice, onEnd: @escaping (CheckOutcome?) -> Void
  ) {
    self.check = check
    loop = engines.libcurl.loop
    self.advice = advice
    self.onEnd = onEnd
    isProxied = engines.libcurl.proxy(of: spec) != nil
    isSecure = spec.url.hasPrefix("https:")
    if check.path == nil {
      dial = engines.dial(spec, receiver: self)
    } else {
      transfer = engines.start(spec, headers: headers, delegate: self)
    }
    loop.schedule(timer, at: .now.advanced(bySeconds: check.timeout), handler: self)
  }

  /// Ends the check without an outcome.
  func cancel() {
    onEnd = nil
    stop()
  }

  private func stop() {
    loop.cancel(timer)
    transfer?.cancel()
    dial?.cancel()
    transfer = nil
    dial = nil
  }

  private func end(_ outcome: CheckOutcome?) {
    let tell = onEnd
    onEnd = nil
    stop()
    tell?(outcome)
  }
}

extension CheckRun: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    // A proxy that has led nowhere yet says nothing about the endpoint.
    let phases = dial?.report()?.phases ?? transfer?.report().phases
    if isProxied, let phases, phases[.send] == nil, phases[.tls] == nil || !isSecure { return end(nil) }
    end(CheckOutcome(result: .timeout, problem: "the check was not done within \(check.timeout) s"))
  }
}

extension CheckRun: TransferDelegate {
  func transfer(_ transfer: any TransferHandle, didReceiveHead head: ResponseHead) -> Flow {
    answer.head(head.status)
    return .proceed
  }

  func transfer(_ transfer: any TransferHandle, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow {
    answer.body(bytes.count) ? .proceed : .stop
  }

  func transfer(_ transfer: any TransferHandle, didFinish error: TransferError?, report: TransferReport) {
    self.transfer = nil
    end(answer.outcome(error, good: check.statuses) ?? error.flatMap { CheckOutcome($0, advice: advice) })
  }
}

extension CheckRun: DialReceiver {
  func dial(_ dial: Dial, opened stream: SocketStream, _ report: TransferReport) {
    self.dial = nil
    stream.close()
    end(.good)
  }

  func dial(_ dial: Dial, failed error: TransferError, _ report: TransferReport) {
    self.dial = nil
    end(CheckOutcome(error, advice: advice))
  }
}

/// The parts that all checks of one upstream have in common. Confined to the control loop, as its header fields are.
final class CheckTerms {
  let upstream: NamedUpstream
  let check: EndpointCheck
  private let credential: OutboundCredential?
  private let proxy: ProxyOptions
  /// Nil without one.
  private let proxyCredential: OutboundCredential?
  private let fields: HeaderBlock
  /// The fields whose values are in files.
  private let secrets: [HeaderRule]
  private let spec: TransferSpec
  /// The version of the credential that was refused, and fetched anew for that; nil once a check is answered otherwise.
  private var refused: UInt64?

  /// Nil for an upstream without checks, and for one whose credentials are not fetched, as no route leads there.
  init?(_ upstream: NamedUpstream, _ credentials: CredentialRegistry) {
    let names = [upstream.credential, upstream.proxy.credential].compactMap(\.self)
    guard let check = upstream.check, names.allSatisfy({ credentials[$0] != nil }) else { return nil }
    self.upstream = upstream
    self.check = check
    let credential = check.path == nil ? nil : credentials[upstream.credential]
    self.credential = credential
    proxy = upstream.proxy.options { credentials[$0] }
    proxyCredential = credentials[upstream.proxy.credential]
    var spec = TransferSpec(url: upstream.target.origin)
    spec.isForOneOfMany = true
    // An HTTP proxy would take the request itself, and no connection would lead to the endpoint.
    spec.opensTunnel = check.path == nil
    if upstream.proxy != .off { spec.rules = TransferRules(proxy: proxy) }
    spec.target = check.path
    spec.method = check.method
    // A request without a body says so, unless its method has none by nature (RFC 9110 §8.6).
    spec.body = check.method == "GET" || check.method == "HEAD" ? .none : .bytes([UInt8]())
    spec.trust = upstream.tls?.trust
    spec.addressPolicy = upstream.destinationPolicy.rules
    self.spec = spec
    var block = HeaderBlock()
    let own = HeaderRules(set: check.headers).leavingOut(credential?.field).set
    secrets = own.filter { $0.secret != nil }
    if let host = check.host { block.append(name: "Host", value: host) }
    if !own.contains(where: { FieldSyntax.isSameName($0.name, "user-agent") }) {
      block.append(name: "User-Agent", value: "weir/\(WeirInfo.version)")
    }
    for header in own where header.secret == nil { block.append(name: header.name, value: header.value) }
    fields = block
  }

  /// The fields of a check that begins now, with the version of its credential; nil if that or the proxy's is not good.
  func headers(at now: MonotonicTime) -> (PreparedHeaders, version: UInt64)? {
    if let proxyCredential, !proxyCredential.isGood(at: now) { return nil }
    var block = fields
    var version: UInt64 = 0
    for header in secrets { block.append(name: header.name, value: header.secret?.value ?? "") }
    if let credential {
      guard credential.isGood(at: now) else { return nil }
      let value = credential.value()
      version = value.version
      credential.field.withUnsafeBytes { name in value.octets.withUnsafeBytes { block.append(name: name, value: $0) } }
    }
    return (PreparedHeaders(block), version)
  }

  /// A check was answered with 401. Returns whether that is the fault of the credential that it carried: another one comes
  /// then, once.
  func wasRefused(_ version: UInt64, at now: MonotonicTime) -> Bool {
    // The value that was fetched for that is refused as well.
    if let refused { return version <= refused }
    guard let credential, credential.refused(version, at: now) else { return false }
    refused = version
    return true
  }

  /// A check was answered with another status.
  func wasTaken() { refused = nil }

  /// Whether checks of the upstream, as a configuration has it now, are the same.
  func holds(for upstream: NamedUpstream, with credentials: CredentialRegistry) -> Bool {
    (check.path == nil || credential === credentials[upstream.credential]) && check == upstream.check
      && proxy == upstream.proxy.options { credentials[$0] }
      && self.upstream.target == upstream.target && self.upstream.tls == upstream.tls
      && self.upstream.destinationPolicy == upstream.destinationPolicy
  }

  /// The check of one endpoint, as a request. Another port is only where it goes: Host and TLS name the endpoint.
  func spec(of endpoint: Endpoint) -> TransferSpec {
    var spec = spec
    if let url = endpoint.url { spec.url = url }
    spec.endpoint = endpoint.destination
    if let port = check.port, case .host(let host, _) = endpoint.destination.place {
      spec.endpoint = TransferEndpoint(.host(host, port: port))
    }
    return spec
  }
}

/// How a check ended, with the text about a failure.
struct CheckOutcome: Sendable, Equatable {
  let result: CheckResult
  /// Empty for a good check.
  let problem: String
  /// Nil without an answer.
  var status: Int?

  static let good = CheckOutcome(result: .good, problem: "")
}

extension CheckOutcome {
  /// Nil if the failure is our own, such as a want of descriptors, or a proxy's: it says nothing about the endpoint.
  init?(_ error: TransferError, advice: TransferAdvice) {
    let failure = TransferFailure(error, advice: advice)
    guard !failure.isOwnDefect, !failure.isOfProxy else { return nil }
    let result: CheckResult =
      switch RequestOutcome(failure.code, hadResponse: false) {
      case .tlsError: .tls
      case .timeout: .timeout
      default: .connection
      }
    self.init(result: result, problem: failure.text)
  }
}

/// The answer to a check while it comes in. A value.
struct CheckAnswer: Sendable {
  /// The bytes of a body that are read, and dropped.
  static let mostBytes = 65_536

  private var status: Int?
  private var bytes = 0

  mutating func head(_ status: Int) { self.status = status }

  /// Bytes of the body have come. Returns whether more of them are read.
  mutating func body(_ count: Int) -> Bool {
    bytes += count
    return bytes <= Self.mostBytes
  }

  /// The outcome by the status, if the answer is complete or longer than it is read; nil if it is neither.
  ///
  /// - Parameter error: Why the transfer has failed; nil if it has not.
  func outcome(_ error: TransferError?, good statuses: [ClosedRange<Int>]) -> CheckOutcome? {
    guard let status, error == nil || error?.kind == .stopped else { return nil }
    if statuses.contains(where: { $0.contains(status) }) { return .good }
    return CheckOutcome(result: .status, problem: "answered with status \(status)", status: status)
  }
}

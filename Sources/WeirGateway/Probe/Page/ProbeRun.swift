import WeirCurl
import WeirHTTP
import WeirIO
import WeirResolver
import WeirTransport

/// The probe that was asked for.
struct ProbeOrder: Sendable {
  var target: String
  var moduleName: String
  var module: ProbeModule
  var targets: DestinationPolicy
  /// Seconds for the whole probe.
  var timeout: Double
}

/// One probe under way: a lookup, then hop by hop. Confined to the loop.
///
/// States: looking up (ends by an answer or the timeout), asking (ends by the last response, a failure or the timeout),
/// over. It keeps itself alive until it is over.
final class ProbeRun {
  static let mostRedirects = 10

  private let order: ProbeOrder
  private let module: ProbeModule
  private let resolver: Resolver
  private let loop: EventLoop
  private var log: ProbeLog
  private var findings = ProbeFindings()
  private var cookies = ProbeCookies()
  private let timer = LoopTimer()
  private let start = MonotonicTime.now
  private var lookup: PendingLookup?
  private var exchange: ProbeExchange?
  /// Nil once the probe is over.
  private var onEnd: ((ProbeFindings, ProbeLog) -> Void)?

  /// Begins a probe.
  ///
  /// - Parameter onEnd: Hears what it found out, on the loop.
  static func begin(
    _ order: ProbeOrder, _ resolver: Resolver, onEnd: @escaping (ProbeFindings, ProbeLog) -> Void
  ) {
    let run = ProbeRun(order, resolver, onEnd: onEnd)
    resolver.loop.schedule(run.timer, at: run.start.advanced(bySeconds: order.timeout), handler: run)
    run.begin()
  }

  private init(_ order: ProbeOrder, _ resolver: Resolver, onEnd: @escaping (ProbeFindings, ProbeLog) -> Void) {
    self.order = order
    module = order.module
    self.resolver = resolver
    loop = resolver.loop
    log = ProbeLog(module: order.moduleName, target: Self.shown(order.target))
    self.onEnd = onEnd
  }

  /// A target without its credentials, whether or not it has a scheme.
  private static func shown(_ target: String) -> String {
    if target.contains("://") { return Redaction.urls(in: target) }
    return String(Redaction.urls(in: "http://" + target).dropFirst("http://".count))
  }

  private func end() {
    let tell = onEnd
    onEnd = nil
    loop.cancel(timer)
    tell?(findings, log)
  }

  private var remaining: Double { max(0.001, order.timeout - MonotonicTime.now.seconds(since: start)) }

  // MARK: Lookup

  private func begin() {
    log.note("Beginning probe", ["probe": .string("http"), "timeout_seconds": .double(order.timeout)])
    guard let url = ProbeURL(target: order.target) else {
      log.fail("Could not parse target URL")
      return end()
    }
    findings.hasTarget = true
    log.note(
      "Resolving target address",
      ["host": .string(url.host), "ip_protocol": .string(module.prefersIPv4 ? "ip4" : "ip6")])
    if let address = IPAddress(host: url.host) { return choose(among: [address], for: url) }
    let family: Question.Family = module.fallsBack ? .any : module.prefersIPv4 ? .ipv4 : .ipv6
    // Whole seconds, as the resolver keeps a channel for each time; the timer ends the lookup when it is due.
    lookup = resolver.lookUp(.addresses(of: url.host, family: family), timeout: remaining.rounded(.up)) {
      [self] result in
      lookup = nil
      switch result {
      case .success(let answer): choose(among: answer.entries.map(\.address), for: url)
      case .failure(let problem): failLookup(problem.description)
      }
    }
  }

  private func failLookup(_ reason: String) {
    findings.lookup = MonotonicTime.now.seconds(since: start)
    log.fail("Error resolving address", ["err": .string(reason)])
    end()
  }

  /// Takes the first address of the version of IP that the module prefers, of those that may be asked.
  private func choose(among addresses: [IPAddress], for url: ProbeURL) {
    let isPreferred = { (address: IPAddress) in
      if case .v4 = address { self.module.prefersIPv4 } else { !self.module.prefersIPv4 }
    }
    let usable = addresses.map(\.unmapped).filter { module.fallsBack || isPreferred($0) }
    guard !usable.isEmpty else { return failLookup("there is no address of the version of IP that is asked for") }
    let allowed = usable.filter { order.targets.rules?.refusal(of: $0) == nil }
    guard let address = allowed.first(where: isPreferred) ?? allowed.last else {
      let reason = usable.first.flatMap { order.targets.rules?.refusal(of: $0) } ?? ""
      return failLookup("\(reason); see targets of the probe file".replacing("destinationPolicy", with: "targets"))
    }
    findings.lookup = MonotonicTime.now.seconds(since: start)
    findings.address = address
    log.note("Resolved target address", ["ip": .string("\(address)")])
    ask(ProbeHop(url: url, method: module.method, sendsBody: true, pin: address))
  }

  // MARK: Hops

  private func ask(_ hop: ProbeHop) {
    findings.hasAsked = true
    var options = TransportOptions()
    options.connectTimeout = remaining
    options.notesPeers = true
    do throws(ProbeProblem) {
      guard (1...65_535).contains(hop.url.port) else { throw ProbeProblem("ports are 1 to 65535") }
      let headers = try hop.headers(module, cookies: cookies.field(for: hop.url))
      let engines: Engines
      do throws(TransferError) {
        engines = try Engines(loop: loop, options: options, observer: nil)
      } catch {
        throw ProbeProblem(error.description)
      }
      log.note(
        "Making HTTP request", ["url": .string(hop.url.text), "host": .string(hop.hostField(module))])
      let spec = hop.spec(module, policy: order.targets)
      exchange = ProbeExchange(
        spec, headers, module, by: engines, on: loop, wantsBody: { [self] head in next(after: hop, head) == nil },
        onEnd: { [self] in exchangeEnded($0, of: hop) })
    } catch {
      fail(error.description)
    }
  }

  private func fail(_ reason: String) {
    log.fail("Error for HTTP request", ["err": .string(reason)])
    end()
  }

  /// Where a response sends the probe; nil for one that is no redirect. Of several Location fields the first counts, as
  /// for blackbox_exporter; a client would refuse those that differ.
  private func next(after hop: ProbeHop, _ head: ResponseHead) -> String? {
    guard [301, 302, 303, 307, 308].contains(head.status) else { return nil }
    return head.locations.first.flatMap { $0.isEmpty ? nil : $0 }
  }

  private func exchangeEnded(_ outcome: ProbeExchange.Outcome, of hop: ProbeHop) {
    exchange = nil
    var phases = outcome.report.phases
    // The time of the first lookup is in the findings; an address that is given needs none.
    if hop.pin != nil { phases[.resolve] = nil }
    let location = outcome.head.flatMap { next(after: hop, $0) }
    if location != nil { phases[.transfer] = nil }
    findings.phases.add(phases)
    guard let head = outcome.head else { return fail(outcome.failure ?? "") }
    cookies.keep(head, from: hop.url)
    guard let location else { return finish(outcome, head, of: hop, isRefusedRedirect: false) }
    follow(location, outcome, head, of: hop)
  }

  private func follow(_ location: String, _ outcome: ProbeExchange.Outcome, _ head: ResponseHead, of hop: ProbeHop) {
    findings.redirects += 1
    guard let next = hop.redirected(to: location, status: head.status) else {
      return fail("the redirect leads to no http or https URL")
    }
    guard MonotonicTime.now.seconds(since: start) < order.timeout else { return fail(ProbeExchange.timeout) }
    log.note("Received redirect", ["location": .string(next.url.text)])
    guard module.followsRedirects, findings.redirects <= Self.mostRedirects else {
      log.note("Not following redirect")
      return finish(outcome, head, of: hop, isRefusedRedirect: true)
    }
    ask(next)
  }

  private func finish(
    _ outcome: ProbeExchange.Outcome, _ head: ResponseHead, of hop: ProbeHop, isRefusedRedirect: Bool
  ) {
    log.note("Received HTTP response", ["status_code": .integer(head.status)])
    findings.response = ProbeFindings.Response(
      head: head, method: hop.method, isSecure: hop.url.isSecure, peer: outcome.report.peer, body: outcome.body,
      isRefusedRedirect: isRefusedRedirect)
    end()
  }
}

extension ProbeRun: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if let lookup {
      lookup.cancel()
      self.lookup = nil
      failLookup(ProbeExchange.timeout)
    } else {
      exchange?.timeOut()
    }
  }
}

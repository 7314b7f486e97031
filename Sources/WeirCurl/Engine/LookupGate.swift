internal import CCurl
internal import WeirIO

/// Limits name lookups. Each lookup is a thread of libcurl that can't be stopped, so their number is bounded, and a
/// name has never more than one. Other transfers that need the name wait for the end of its lookup. Names that wait for
/// a place get one in the order in which they came. A name that hangs takes only one place, and other names wait only
/// when all places are taken.
///
/// A value; the owner acts on what it returns.
struct LookupGate<Waiter> {
  typealias Ticket = UInt64
  /// The waiters for one name, by their ascending tickets.
  private typealias Waiters = [Ticket: Waiter]

  private let limit: Int
  private var underWay: [String: Waiters] = [:]
  private var waiting: [String: Waiters] = [:]
  /// Names without a place. A name whose waiters have all left is skipped when its turn comes.
  private var queue = Deque<String>()
  private var lastTicket: Ticket = 0

  init(limit: Int) {
    self.limit = max(1, limit)
  }

  /// Lookups that are under way.
  var running: Int { underWay.count }

  /// Whether the name may be looked up now. If so, the lookup counts until `end`.
  mutating func begin(_ name: String) -> Bool {
    guard underWay.count < limit, underWay[name] == nil else { return false }
    // Transfers that waited for a place now wait for this lookup.
    underWay[name] = waiting.removeValue(forKey: name) ?? [:]
    return true
  }

  /// Adds a waiter for the present lookup of the name or, if there is none, for a place.
  mutating func wait(_ waiter: Waiter, for name: String) -> Ticket {
    lastTicket += 1
    if underWay[name] != nil {
      underWay[name]?[lastTicket] = waiter
    } else {
      if waiting[name] == nil { enqueue(name) }
      waiting[name, default: [:]][lastTicket] = waiter
    }
    return lastTicket
  }

  /// Removes a waiter.
  mutating func leave(_ ticket: Ticket, for name: String) {
    underWay[name]?[ticket] = nil
    waiting[name]?[ticket] = nil
    if waiting[name]?.isEmpty == true { waiting[name] = nil }
  }

  /// The lookup of the name has ended. Returns its waiters in their order.
  mutating func end(_ name: String) -> [Waiter] {
    let waiters = underWay.removeValue(forKey: name) ?? [:]
    return waiters.sorted { $0.key < $1.key }.map(\.value)
  }

  /// The first waiter of the next name, if there is a place for one. Its lookup counts from now on, so that no newcomer
  /// takes the place, and the name's other waiters wait for its end.
  mutating func next() -> Waiter? {
    while underWay.count < limit, let name = queue.popFirst() {
      guard var waiters = waiting.removeValue(forKey: name), let first = waiters.keys.min() else { continue }
      let waiter = waiters.removeValue(forKey: first)
      underWay[name] = waiters
      return waiter
    }
    return nil
  }

  private mutating func enqueue(_ name: String) {
    if queue.count > 64 + 2 * waiting.count {
      let wanted = waiting
      queue.removeAll { wanted[$0] == nil }
    }
    queue.append(name)
  }
}

/// The engines of one loop share names that were looked up and lookups under way, so that a name costs one lookup, and
/// the TLS sessions that new connections may resume.
///
/// Before 8.12, libcurl keeps sessions with the easy handle. Such a handle serves one transfer only, so each new
/// connection would cost a full handshake. The number of sessions is libcurl's default.
final class SharedCaches {
  var lookups: LookupGate<Transfer>
  let share: UnsafeMutableRawPointer

  /// Nil without memory.
  init?(lookups limit: Int) {
    guard let share = curl_share_init() else { return nil }
    self.share = share
    lookups = LookupGate(limit: limit)
    // No lock functions are set, as only one loop uses the share.
    for data in [CURL_LOCK_DATA_DNS, CURL_LOCK_DATA_SSL_SESSION] {
      guard weir_share_set_long(share, CURLSHOPT_SHARE, Int(data.rawValue)) == CURLSHE_OK else { return nil }
    }
  }

  deinit { curl_share_cleanup(share) }
}

// The limit on name lookups. A lookup beyond the limit, or a second one for a name, is refused in libcurl's callback.
// That ends the transfer in libcurl and costs the others nothing. The transfer is restarted when its lookup may run or
// is no longer needed.
extension TransferEngine {
  /// The lookup's thread has finished, or was never needed.
  func endLookup(of transfer: Transfer) {
    guard transfer.lookup == .running else { return }
    transfer.lookup = .none
    for waiter in caches.lookups.end(transfer.lookupName) { goOn(waiter) }
    startPostponedLookups()
  }

  /// If a name could not be resolved, the transfers that waited for this lookup fail as well.
  func lookupFailed(_ transfer: Transfer, _ result: CurlCode) {
    guard transfer.lookup == .running, result == .couldNotResolveHost || result == .couldNotResolveProxy else { return }
    transfer.lookup = .failed
    let error = transfer.curlError(result)
    for waiter in caches.lookups.end(transfer.lookupName) {
      waiter.verdict = waiter.verdict ?? error
      waiter.engine.need(.cancel, for: waiter)
    }
    startPostponedLookups()
  }

  /// Puts back a transfer whose lookup was refused; false when it can't wait, and ends.
  func waitForLookup(_ transfer: Transfer) -> Bool {
    guard takeBack(transfer, isStale: transfer.repeats.requests > 0) else { return false }
    transfer.lookup = .waiting
    transfer.lookupTicket = caches.lookups.wait(transfer, for: transfer.lookupName)
    startPostponedLookups()
    return true
  }

  private func startPostponedLookups() {
    while let transfer = caches.lookups.next() {
      goOn(transfer)
      transfer.lookup = .running
    }
  }

  private func goOn(_ transfer: Transfer) {
    transfer.lookup = .none
    transfer.restarted = MonotonicTime.now.seconds(since: transfer.clock.start)
    transfer.engine.need(.add, for: transfer)
  }
}

extension Transfer {
  /// Whether libcurl may look a name up now.
  func lookupStarts() -> Bool {
    // A repeat that is not allowed needs no name.
    guard state == .running, failure == nil, mayBeginRequest() else { return false }
    guard lookup == .none, let name = nameToLookUp else {
      limitLookup()
      return true
    }
    lookupName = name
    limitConnecting()
    guard engine.caches.lookups.begin(name) else {
      lookup = .postponed
      return false
    }
    lookup = .running
    limitLookup()
    return true
  }

  /// The name for which a connection may need a resolver thread; nil for addresses, and for localhost, which libcurl resolves
  /// itself.
  private var nameToLookUp: String? {
    var host = spec.endpoint?.host?[...] ?? HostName.host(ofURL: spec.url)
    // With a proxy that gets addresses, the server's name comes once there is a connection to the proxy.
    if let proxy, proxy.resolvesNames || connecting.isEmpty { host = proxy.host[...] }
    return HostName.needsLookup(host) ? host.lowercased() : nil
  }

  /// Makes our connect timeout end the transfer, also while it waits for a lookup. libcurl's own timeout would lose
  /// track of a resolver thread that still runs.
  private func limitConnecting() {
    let timer = connectTimer ?? LoopTimer()
    guard !timer.isArmed else { return }
    connectTimer = timer
    let seconds = Double(engine.connectTimeout(of: spec)) / 1000
    // When libcurl repeats a request, the time starts again.
    let start = clock.ready == nil ? clock.start : engine.now
    engine.loop.schedule(timer, at: start.advanced(bySeconds: seconds), handler: self)
  }

  /// Makes libcurl's connect timeout longer than ours, so that ours comes first. It is only a quarter longer, as newer
  /// versions of libcurl give half of the time to the first of several addresses.
  private func limitLookup() {
    guard lookup == .running, let handle else { return }
    let timeout = engine.connectTimeout(of: spec)
    weir_easy_set_long(handle.easy, CURLOPT_CONNECTTIMEOUT_MS, timeout + timeout / 4)
  }
}

extension Transfer: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    guard !isFinished else { return }
    let isResolving = lookup != .none
    let milliseconds = Int(MonotonicTime.now.seconds(since: clock.start) * 1000)
    verdict = TransferError(
      .curl, code: .timedOut,
      message: "\(isResolving ? "Resolving" : "Connection") timed out after \(milliseconds) milliseconds")
    engine.need(.cancel, for: self)
  }
}

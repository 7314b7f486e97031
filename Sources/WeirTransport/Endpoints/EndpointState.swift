import Glibc
import Synchronization
package import WeirCurl
package import WeirIO

/// An address to which attempts of a set go. Workers share it: its numbers are atomics, which a choice among endpoints
/// reads without a lock. Its weight and priority belong to the ``Balancer`` in use.
package final class Endpoint: Sendable {
  /// Seconds after which a trial that has not ended no longer bars another one.
  private static let longestTrial = 30.0
  /// How many times the mean of the others is much slower.
  static let muchSlower = 4.0

  /// `host:port` or `unix:/path`.
  package let name: String
  /// Where its connections lead.
  package let destination: TransferEndpoint
  /// The URL whose host and port are the names in requests and in TLS; nil: the request's own.
  package let url: String?
  /// The tag of its connections, which counts them; nil if its set counts none.
  let connections: EndpointConnections?
  /// Its number in the set, from 1 on.
  let number: UInt32
  private let totals: EndpointTotals

  private let attempts = Atomic<Int>(0)
  private let availabilityWord = Atomic<UInt64>(0)
  /// The bit pattern of the seconds; NaN stands for none.
  private let latencySeconds = Atomic<UInt64>(Double.nan.bitPattern)
  private let latencyTime = Atomic<Int64>(0)
  /// The part of the set's sum; NaN stands for none.
  private let latencyPart = Atomic<UInt64>(Double.nan.bitPattern)
  private let failedLast = Atomic<Bool>(false)
  private let index = Atomic<Int>(-1)

  private let successCount = Atomic<Int>(0)
  private let failureCount = Atomic<Int>(0)
  private let consecutiveCount = Atomic<Int>(0)
  private let ratioCount = Atomic<Int>(0)
  private let retryAfterCount = Atomic<Int>(0)

  /// - Parameter connections: The tag of its connections.
  init(
    _ spec: EndpointSpec, number: UInt32, totals: EndpointTotals, connections: EndpointConnections? = nil
  ) {
    self.connections = connections
    name = spec.name
    url = spec.url
    destination = TransferEndpoint(
      spec.isUnixSocket ? .unixSocket(spec.host) : .host(spec.host, port: spec.port))
    self.number = number
    self.totals = totals
  }

  /// Whether its set has it still.
  var isMember: Bool { place >= 0 }

  // MARK: Attempts in flight

  /// The attempts in flight of all workers.
  package var active: Int { attempts.load(ordering: .relaxed) }

  /// An attempt goes to the endpoint. Each call needs one of ``leaves()``. Threads that pick at the same time may exceed
  /// the limit on connections by as many as they are.
  package func begins() {
    attempts.wrappingAdd(1, ordering: .relaxed)
    totals.begins()
  }

  /// An attempt occupies the endpoint no more: its response is complete, or it has failed or been given up.
  package func leaves() {
    attempts.wrappingSubtract(1, ordering: .relaxed)
    totals.leaves()
  }

  // MARK: Availability

  var availability: EndpointAvailability {
    EndpointAvailability(word: availabilityWord.load(ordering: .relaxed))
  }

  func publish(_ availability: EndpointAvailability) {
    availabilityWord.store(availability.word, ordering: .relaxed)
  }

  /// Takes the right to try an endpoint whose ejection has lasted long enough; false if another request has it.
  func claimTrial(at now: MonotonicTime) -> Bool {
    let word = availabilityWord.load(ordering: .relaxed)
    guard case .ejected(let until) = EndpointAvailability(word: word) else { return true }
    let claimed = EndpointAvailability.ejected(until: now.advanced(bySeconds: Self.longestTrial))
    return until <= now
      && availabilityWord.compareExchange(expected: word, desired: claimed.word, ordering: .relaxed).exchanged
  }

  /// The place among the members of its set, under the set's lock; negative while it is none.
  var place: Int {
    get { index.load(ordering: .relaxed) }
    set { index.store(newValue, ordering: .relaxed) }
  }

  // MARK: Counts

  /// Attempts since the endpoint is known.
  var successes: Int { successCount.load(ordering: .relaxed) }
  var failures: Int { failureCount.load(ordering: .relaxed) }

  /// Whether the last attempt that counts has failed.
  var hasFailed: Bool { failedLast.load(ordering: .relaxed) }

  func countAttempt(failed: Bool) {
    if failed {
      failureCount.wrappingAdd(1, ordering: .relaxed)
    } else {
      successCount.wrappingAdd(1, ordering: .relaxed)
    }
    failedLast.store(failed, ordering: .relaxed)
  }

  /// Ejections since the endpoint is known.
  func ejections(_ reason: EjectionReason) -> Int {
    switch reason {
    case .consecutive: consecutiveCount.load(ordering: .relaxed)
    case .ratio: ratioCount.load(ordering: .relaxed)
    case .retryAfter: retryAfterCount.load(ordering: .relaxed)
    }
  }

  func countEjection(_ reason: EjectionReason) {
    switch reason {
    case .consecutive: consecutiveCount.wrappingAdd(1, ordering: .relaxed)
    case .ratio: ratioCount.wrappingAdd(1, ordering: .relaxed)
    case .retryAfter: retryAfterCount.wrappingAdd(1, ordering: .relaxed)
    }
  }

  // MARK: Latency

  /// The mean time to the first byte, in seconds; nil while no endpoint has answered.
  func latency(at now: MonotonicTime) -> Double? {
    let seconds = Double(bitPattern: latencySeconds.load(ordering: .relaxed))
    let time = MonotonicTime(nanoseconds: latencyTime.load(ordering: .relaxed))
    return EndpointLatency(seconds.isNaN ? nil : seconds, since: time).value(others: latencyOfOthers, at: now)
  }

  /// The mean latency of the other available endpoints; nil if none has answered.
  var latencyOfOthers: Double? {
    let part = Double(bitPattern: latencyPart.load(ordering: .relaxed))
    return totals.latencySum.mean(without: part.isNaN ? nil : part)
  }

  /// Whether its mean time to the first byte is over 4 × the others' while another endpoint is available. Waits there say
  /// nothing about the upstream as a whole.
  package func isMuchSlower(at now: MonotonicTime) -> Bool {
    guard let others = latencyOfOthers, let own = latency(at: now) else { return false }
    return own > Self.muchSlower * others && totals.available > (availability.isAvailable ? 1 : 0)
  }

  /// - Parameter part: The part of the set's sum; nil while the endpoint is not in it.
  func publish(_ latency: EndpointLatency, part: Double?) {
    latencySeconds.store((latency.seconds ?? .nan).bitPattern, ordering: .relaxed)
    latencyTime.store(latency.since.nanoseconds, ordering: .relaxed)
    latencyPart.store((part ?? .nan).bitPattern, ordering: .relaxed)
  }
}

/// Whether an endpoint may be picked. It fits into a word, which every worker reads without a lock.
enum EndpointAvailability: Hashable, Sendable {
  case available
  /// Its weight grows, from a tenth at this time on.
  case slowStart(since: MonotonicTime)
  /// It is not picked before this time. From then on one request at a time tries it.
  case ejected(until: MonotonicTime)
  /// Active checks found it out of order.
  case unhealthy

  /// Whether the endpoint counts as available for priorities and shares.
  var isAvailable: Bool {
    switch self {
    case .available, .slowStart: true
    case .ejected, .unhealthy: false
    }
  }

  /// The case in two bits, and the time above them.
  var word: UInt64 {
    switch self {
    case .available: 0
    case .slowStart(let time): Self.packed(time) | 1
    case .ejected(let time): Self.packed(time) | 2
    case .unhealthy: 3
    }
  }

  init(word: UInt64) {
    let time = MonotonicTime(nanoseconds: Int64(word >> 2))
    switch word & 3 {
    case 0: self = .available
    case 1: self = .slowStart(since: time)
    case 2: self = .ejected(until: time)
    default: self = .unhealthy
    }
  }

  /// Times are cut to 61 bits, more than 70 years.
  private static func packed(_ time: MonotonicTime) -> UInt64 {
    UInt64(min(max(0, time.nanoseconds), 1 << 61 - 1)) << 2
  }
}

/// Numbers of all endpoints of a set together.
final class EndpointTotals: Sendable {
  private let attempts = Atomic<Int>(0)
  private let availableCount = Atomic<Int>(0)
  private let latencySeconds = Atomic<UInt64>(0)
  private let latencyCount = Atomic<Int>(0)

  /// Attempts in flight.
  var active: Int { attempts.load(ordering: .relaxed) }

  func begins() { attempts.wrappingAdd(1, ordering: .relaxed) }

  func leaves() { attempts.wrappingSubtract(1, ordering: .relaxed) }

  /// The number of endpoints that are available.
  var available: Int {
    get { availableCount.load(ordering: .relaxed) }
    set { availableCount.store(newValue, ordering: .relaxed) }
  }

  /// A reader may see the seconds of one moment with the count of another. The mean is off for that moment.
  var latencySum: LatencySum {
    get {
      LatencySum(
        seconds: Double(bitPattern: latencySeconds.load(ordering: .relaxed)),
        count: latencyCount.load(ordering: .relaxed))
    }
    set {
      latencySeconds.store(newValue.seconds.bitPattern, ordering: .relaxed)
      latencyCount.store(newValue.count, ordering: .relaxed)
    }
  }
}

/// The time to the first byte at one endpoint: a mean whose samples fade with a time constant of 10 s.
struct EndpointLatency: Sendable {
  /// Seconds.
  private static let timeConstant = 10.0
  /// Seconds that a failed attempt counts as at most.
  private static let longestFailure = 10.0

  /// Seconds, as of the last sample; nil without one.
  private(set) var seconds: Double?
  private(set) var since: MonotonicTime

  /// - Parameter seconds: As of the time `since`; nil without a sample.
  init(_ seconds: Double? = nil, since: MonotonicTime) {
    self.seconds = seconds
    self.since = since
  }

  /// The value now. An endpoint without new samples tends to the mean of the others.
  func value(others: Double?, at now: MonotonicTime) -> Double? {
    guard let seconds else { return others }
    guard let others else { return seconds }
    return others + (seconds - others) * Self.fading(now.seconds(since: since))
  }

  mutating func note(answer sample: Double, others: Double?, at now: MonotonicTime) {
    let kept = Self.fading(now.seconds(since: since))
    let before = seconds ?? others ?? sample
    seconds = sample + (before - sample) * kept
    since = max(since, now)
  }

  /// A failure counts as twice the mean, its own or the others', or as the time that it took where that is more: fast
  /// failures must not make an endpoint look fast. Without a mean it says nothing.
  mutating func note(failureAfter elapsed: Double, others: Double?, at now: MonotonicTime) {
    guard let present = value(others: others, at: now) else { return }
    let sample = min(max(2 * max(present, others ?? 0), elapsed), Self.longestFailure)
    note(answer: max(present, sample), others: others, at: now)
  }

  /// An answer would have taken longer than its caller waited.
  mutating func note(givenUpAfter elapsed: Double, others: Double?, at now: MonotonicTime) {
    note(answer: max(elapsed, value(others: others, at: now) ?? elapsed), others: others, at: now)
  }

  private static func fading(_ elapsed: Double) -> Double { elapsed > 0 ? exp(-elapsed / timeConstant) : 1 }
}

/// The sum of the latencies of the endpoints that are available.
struct LatencySum: Sendable {
  private(set) var seconds = 0.0
  private(set) var count = 0

  mutating func replace(_ old: Double?, by new: Double?) {
    seconds += (new ?? 0) - (old ?? 0)
    count += (new == nil ? 0 : 1) - (old == nil ? 0 : 1)
  }

  /// The mean of the others than one whose part of the sum this is; nil if there are none.
  func mean(without part: Double?) -> Double? {
    let others = part == nil ? count : count - 1
    return others > 0 ? max(0, seconds - (part ?? 0)) / Double(others) : nil
  }
}

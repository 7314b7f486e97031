import WeirIO

/// Says which endpoints of one priority are ejected because their attempts fail, and when they return. A value; time and
/// randomness are passed in.
///
/// ```
/// in use ─► ejected        too many failed, and the others are better
/// ejected ─► in use        an attempt succeeded after the time was over, or an active check did
/// ejected ─► ejected       an attempt failed after the time was over
/// ```
/// An attempt that began before the last change says nothing about the time after it.
struct OutlierDetector: Sendable {
  /// The history of one endpoint.
  struct Record: Sendable {
    fileprivate var failuresInRow = 0
    fileprivate var window: OutlierWindow
    /// Ejections in a row.
    fileprivate var ejections = 0
    fileprivate var reason = EjectionReason.consecutive
    /// Attempts that began earlier do not count.
    fileprivate var since: MonotonicTime
    /// From when on single attempts go to the endpoint; nil while it is in use.
    fileprivate(set) var until: MonotonicTime?

    init(_ settings: OutlierSettings, at now: MonotonicTime) {
      window = OutlierWindow(seconds: settings.boundedWindow, at: now)
      since = now
    }

    /// Takes the settings in use. A window of another length can't be added to theirs, and counts anew.
    mutating func follow(_ settings: OutlierSettings, at now: MonotonicTime) {
      if window.seconds != settings.boundedWindow { forgetAttempts(settings, at: now) }
    }

    /// Begins to count anew, with a window of another length or after an ejection.
    fileprivate mutating func forgetAttempts(_ settings: OutlierSettings, at now: MonotonicTime) {
      failuresInRow = 0
      window = OutlierWindow(seconds: settings.boundedWindow, at: now)
    }
  }

  private static let jitter = 0.1

  private let settings: OutlierSettings
  /// The attempts of all endpoints.
  private var window: OutlierWindow
  private let members: Int
  private var ejected: Int

  init(_ settings: OutlierSettings, _ records: some Collection<Record>, at now: MonotonicTime) {
    self.settings = settings
    window = OutlierWindow(seconds: settings.boundedWindow, at: now)
    members = records.count
    ejected = records.count { $0.until != nil }
    for record in records { window.add(record.window, times: 1) }
  }

  /// An attempt has ended.
  ///
  /// - Parameters:
  ///   - began: When it began.
  ///   - random: From 0 to 1, for the length of an ejection.
  mutating func ended(
    _ record: inout Record, failed: Bool, began: MonotonicTime, random: Double, at now: MonotonicTime
  ) -> EndpointEvent.Kind? {
    guard began >= record.since else { return nil }
    if record.until != nil {
      if failed { return eject(&record, record.reason, random, at: now) }
      return returned(&record, at: now)
    }
    window.note(failed: failed, at: now)
    record.window.move(to: window.latest)
    record.window.note(failed: failed, at: now)
    record.failuresInRow = failed ? record.failuresInRow + 1 : 0
    guard failed, let reason = reason(record), mayEject(record) else { return nil }
    ejected += 1
    if now.seconds(since: record.since) >= settings.boundedLongest { record.ejections = 0 }
    return eject(&record, reason, random, at: now)
  }

  /// An active check found the endpoint in order.
  mutating func returned(_ record: inout Record, at now: MonotonicTime) -> EndpointEvent.Kind? {
    guard record.until != nil else { return nil }
    record.until = nil
    record.since = now
    ejected -= 1
    return .returned
  }

  private func reason(_ record: Record) -> EjectionReason? {
    if record.failuresInRow >= settings.boundedConsecutive { return .consecutive }
    let sum = record.window.sum
    return sum.ended >= settings.boundedMinimumRequests && sum.ratio >= settings.boundedRatio ? .ratio : nil
  }

  /// Whether there is room for another ejection, and the other endpoints fail at less than half the ratio.
  private func mayEject(_ record: Record) -> Bool {
    guard members > 1, Double(ejected + 1) <= settings.boundedMaximumShare * Double(members) else { return false }
    var others = window.sum
    others.add(record.window.sum, times: -1)
    return others.ratio < record.window.sum.ratio / 2
  }

  private mutating func eject(
    _ record: inout Record, _ reason: EjectionReason, _ random: Double, at now: MonotonicTime
  ) -> EndpointEvent.Kind {
    record.ejections = min(record.ejections + 1, 3_600)
    record.reason = reason
    let length = min(Double(record.ejections) * settings.boundedEjectFor, settings.boundedLongest)
    let seconds = length * (1 - Self.jitter + 2 * Self.jitter * random)
    let until = now.advanced(bySeconds: seconds)
    record.until = until
    record.since = until
    window.add(record.window, times: -1)
    record.forgetAttempts(settings, at: now)
    return .ejected(reason, seconds: seconds)
  }
}

/// The attempts of the last seconds, in ten slices. Slices of windows of one length begin at the same times, so that
/// windows can be added.
struct OutlierWindow: Sendable {
  struct Counts: Sendable, Hashable {
    var ended = 0
    var failed = 0

    /// Failed ÷ ended; 0 without any.
    var ratio: Double { ended > 0 ? Double(failed) / Double(ended) : 0 }

    mutating func add(_ other: Counts, times sign: Int) {
      ended += sign * other.ended
      failed += sign * other.failed
    }
  }

  private static let count = 10

  /// Of all slices.
  let seconds: Double
  private var slices = [Counts](repeating: Counts(), count: count)
  /// Nanoseconds of a slice.
  private let length: Int64
  /// The number of the present slice: its time ÷ the length.
  private(set) var latest: Int64
  private(set) var sum = Counts()

  init(seconds: Double, at now: MonotonicTime) {
    self.seconds = seconds
    length = Int64(seconds * 1e9) / Int64(Self.count)
    latest = now.nanoseconds / length
  }

  mutating func note(failed: Bool, at now: MonotonicTime) {
    move(at: now)
    let counts = Counts(ended: 1, failed: failed ? 1 : 0)
    slices[place(latest)].add(counts, times: 1)
    sum.add(counts, times: 1)
  }

  /// Adds or takes away another window of the same length.
  mutating func add(_ other: OutlierWindow, times sign: Int) {
    var other = other
    move(to: other.latest)
    other.move(to: latest)
    for index in slices.indices { slices[index].add(other.slices[index], times: sign) }
    sum.add(other.sum, times: sign)
  }

  /// Lets slices pass. An earlier time counts as the present: threads read the clock before they get a lock.
  mutating func move(at now: MonotonicTime) { move(to: now.nanoseconds / length) }

  mutating func move(to number: Int64) {
    guard number > latest else { return }
    for passed in max(latest + 1, number - Int64(Self.count) + 1)...number {
      sum.add(slices[place(passed)], times: -1)
      slices[place(passed)] = Counts()
    }
    latest = number
  }

  private func place(_ number: Int64) -> Int { Int(number % Int64(Self.count)) }
}

import WeirIO

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

/// How far a client has come with a request's body, and what follows from that. A value.
///
/// The request goes to the upstream when its body is there, or as much of it as is kept: a client that dribbles holds
/// nobody up meanwhile. What comes beyond that has to come at a pace, for as long as others want what it holds.
struct BodyIntake {
  enum Stage {
    /// Nothing has gone to the upstream.
    case gathering
    /// The request is under way, its body is not complete.
    case streaming
    case complete
  }

  enum Verdict: Equatable {
    case proceed
    /// The client is too slow.
    case giveUp
  }

  /// Seconds between two looks at the pace of a body that streams.
  static let interval = 5.0
  /// Bytes that come in this time at the least, while the upstream waits for them and others for its slots.
  static let leastBytes = 5 << 10

  private(set) var stage = Stage.gathering
  private var bytes = 0

  /// True: as much as is kept has come, and the request is to begin.
  mutating func received(_ count: Int, isFull: Bool) -> Bool {
    bytes += count
    guard stage == .gathering, isFull else { return false }
    stage = .streaming
    bytes = 0
    return true
  }

  /// True: the request is to begin.
  mutating func ended() -> Bool {
    defer { stage = .complete }
    return stage == .gathering
  }

  /// The time is over: all of it while the body is gathered, an interval while it streams.
  mutating func timeIsOver(isAwaited: Bool, isCrowded: Bool) -> Verdict {
    defer { bytes = 0 }
    switch stage {
    case .gathering: return .giveUp
    case .streaming: return isAwaited && isCrowded && bytes < Self.leastBytes ? .giveUp : .proceed
    case .complete: return .proceed
    }
  }
}

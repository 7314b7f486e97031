/// Tracks how much of a request's body a client has sent, and decides what follows. A value.
///
/// The request goes to the upstream once its body is there, or as much of it as is kept. So a slow client occupies no
/// slot meanwhile. The rest of the body must come at a minimum pace, as long as other requests want the slot.
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

  /// Seconds between two checks of the pace of a body that streams.
  static let interval = 5.0
  /// The minimum number of bytes in that time. It applies while the upstream waits for them and other requests wait for
  /// slots.
  static let leastBytes = 5 << 10

  private(set) var stage = Stage.gathering
  private var bytes = 0

  /// Counts received bytes. Returns true if as much as is kept has come, so that the request should begin.
  mutating func received(_ count: Int, isFull: Bool) -> Bool {
    bytes += count
    guard stage == .gathering, isFull else { return false }
    stage = .streaming
    bytes = 0
    return true
  }

  /// The body has ended. Returns true if the request should begin.
  mutating func ended() -> Bool {
    defer { stage = .complete }
    return stage == .gathering
  }

  /// The timer has fired: at the end of the whole time while the body is gathered, or of an interval while it streams.
  mutating func timeIsOver(isAwaited: Bool, isCrowded: Bool) -> Verdict {
    defer { bytes = 0 }
    switch stage {
    case .gathering: return .giveUp
    case .streaming: return isAwaited && isCrowded && bytes < Self.leastBytes ? .giveUp : .proceed
    case .complete: return .proceed
    }
  }
}

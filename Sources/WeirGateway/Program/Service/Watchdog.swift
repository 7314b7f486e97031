import WeirIO

/// Gives the service manager signs of life, as long as all loops turn. Confined to a loop of its own choice.
final class Watchdog: TimerHandler {
  /// No interval is so short that the signs would be a load.
  private static let shortestTick = 0.01

  private let loop: EventLoop
  private let seconds: Double
  private let loops: @Sendable () -> [EventLoop]
  private let sign: @Sendable () -> Void
  private let timer = LoopTimer()
  private var round = WatchdogRound()

  /// - Parameters:
  ///   - interval: The time that must not pass without a sign; one is due at half of it.
  ///   - loops: The loops that must turn.
  init(
    on loop: EventLoop, interval: Duration, loops: @escaping @Sendable () -> [EventLoop],
    sign: @escaping @Sendable () -> Void
  ) {
    self.loop = loop
    seconds = max(Self.shortestTick, interval / .seconds(2))
    self.loops = loops
    self.sign = sign
  }

  /// Begins at once, and goes on until `stop`.
  func start() { timerFired(timer, now: loop.turnTime) }

  func stop() { loop.cancel(timer) }

  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    loop.schedule(timer, at: now.advanced(bySeconds: seconds), handler: self)
    let loops = loops()
    guard let number = round.tick(loops: loops.count) else { return }
    let watchdog = LoopBound(confining: self, on: loop)
    for other in loops {
      other.post { watchdog.loop.post { watchdog.value.answered(number) } }
    }
  }

  private func answered(_ number: Int) {
    if timer.isArmed, round.answered(round: number) { sign() }
  }
}

/// Decides when the service manager gets a sign of life: whenever all loops have turned since the last one. A value.
///
/// At each tick, twice per interval, the loops are asked to turn. When the last of them has answered, the sign is given. A
/// loop that still owes an answer is not asked again, and no sign is given before it answers.
struct WatchdogRound: Equatable {
  private var number = 0
  private var owed = 0

  /// Begins a round of `count` loops. Returns its number; nil if the last one is not over.
  mutating func tick(loops count: Int) -> Int? {
    guard owed == 0, count > 0 else { return nil }
    number += 1
    owed = count
    return number
  }

  /// Takes a loop's answer. Returns whether to give the sign.
  mutating func answered(round: Int) -> Bool {
    guard round == number, owed > 0 else { return false }
    owed -= 1
    return owed == 0
  }
}

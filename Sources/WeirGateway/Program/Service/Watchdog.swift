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

import Glibc
import WeirIO

/// Waits until a process that was started to take over says that it is ready. Confined to a loop.
final class Successor: EventHandler, TimerHandler {
  enum Event: Equatable, Sendable {
    case ready
    /// It has been ended, for this reason.
    case failed(String)
  }

  /// The byte by which the new process says that it is ready, and the old one that it may begin.
  static let word: UInt8 = 0x2b

  let process: SuccessorProcess
  private let loop: EventLoop
  private let timer = LoopTimer()
  private let handler: (Event) -> Void
  private var state = State.waiting

  private enum State {
    case waiting
    case ready
    /// It has been ended, or has begun.
    case over
  }

  /// - Parameter handler: Called once, on the loop, unless `end` comes before.
  init(
    _ process: SuccessorProcess, within seconds: Double, on loop: EventLoop, _ handler: @escaping (Event) -> Void
  ) {
    self.process = process
    self.loop = loop
    self.handler = handler
    loop.schedule(timer, at: .now.advanced(bySeconds: seconds), handler: self)
    do {
      try loop.register(process.channel, for: .read, handler: self)
    } catch {
      fail("it can't be waited for: \(error)")
    }
  }

  /// Has the new process begin. This process must not touch its sockets any more, except to close them.
  func begin() {
    guard state == .ready else { return }
    state = .over
    var word = Self.word
    _ = try? systemCall { send(process.channel, &word, 1, CInt(MSG_NOSIGNAL)) }
    close(process.channel)
  }

  /// Ends the new process.
  func end() {
    guard state != .over else { return }
    stopWaiting()
    state = .over
    _ = process.end()
  }

  func descriptorReady(_ fd: CInt, events: IOEvents) {
    var word: UInt8 = 0
    let count = recv(fd, &word, 1, 0)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count == 1, word == Self.word else { return fail(nil) }
    stopWaiting()
    state = .ready
    handler(.ready)
  }

  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    fail("it did not say in time that it is ready")
  }

  private func fail(_ reason: String?) {
    stopWaiting()
    state = .over
    let end = process.end()
    handler(.failed(reason ?? "\(end) before it was ready; its log lines say why"))
  }

  private func stopWaiting() {
    loop.cancel(timer)
    loop.unregister(process.channel)
  }
}

/// The process that this one takes over from. Confined to a loop once it is waited for.
final class Predecessor: EventHandler {
  private let channel: CInt
  private let loop: EventLoop
  private var continuation: CheckedContinuation<Void, Never>?

  private init(_ channel: CInt, on loop: EventLoop) {
    self.channel = channel
    self.loop = loop
  }

  /// Says that this process is ready, and returns once it may begin: when the old process says so, or has gone.
  static func take(over channel: CInt, on loop: EventLoop) async {
    await withCheckedContinuation { continuation in
      loop.post { Predecessor(channel, on: loop).begin(continuation) }
    }
  }

  private func begin(_ continuation: CheckedContinuation<Void, Never>) {
    self.continuation = continuation
    var word = Successor.word
    _ = try? systemCall { send(channel, &word, 1, CInt(MSG_NOSIGNAL)) }
    do {
      try loop.register(channel, for: .read, handler: self)
    } catch {
      finish()
    }
  }

  func descriptorReady(_ fd: CInt, events: IOEvents) {
    var word: UInt8 = 0
    if recv(fd, &word, 1, 0) < 0, errno == EAGAIN || errno == EINTR { return }
    finish()
  }

  private func finish() {
    loop.unregister(channel)
    close(channel)
    continuation?.resume()
    continuation = nil
  }
}

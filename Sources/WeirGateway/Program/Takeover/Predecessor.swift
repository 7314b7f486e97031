import CLinux
import Glibc
import WeirIO

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

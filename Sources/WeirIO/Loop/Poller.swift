import CLinux
import Dispatch
import Glibc

/// The kinds of readiness of a descriptor: those that a handler asks for, and those that it is told.
///
/// Inlinable, because other modules look at every event of every socket, too. There a set's operations would otherwise
/// be looked up at run time, as for any generic type.
package struct IOEvents: OptionSet, Sendable {
  package let rawValue: UInt32

  @inlinable
  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  @inlinable package static var read: IOEvents { IOEvents(rawValue: 0x001) }  // EPOLLIN
  @inlinable package static var write: IOEvents { IOEvents(rawValue: 0x004) }  // EPOLLOUT
  /// Reported for a broken or wholly closed connection, asked for or not.
  @inlinable package static var failure: IOEvents { IOEvents(rawValue: 0x018) }  // EPOLLERR, EPOLLHUP
  /// The part of ``failure`` that an end of both sides is not.
  @inlinable package static var error: IOEvents { IOEvents(rawValue: 0x008) }  // EPOLLERR
  /// Wake one of the loops that share a descriptor, not all of them; only valid when a descriptor is first registered.
  @inlinable package static var exclusive: IOEvents { IOEvents(rawValue: 1 << 28) }  // EPOLLEXCLUSIVE
}

/// An epoll instance: level-triggered, one registration per descriptor.
final class Poller {
  private let descriptor: CInt
  /// The bell that a loop without descriptors waits for; nil otherwise.
  private let bell: DispatchSemaphore?
  private var buffer = [epoll_event](repeating: epoll_event(), count: 256)

  init() throws(Errno) {
    descriptor = try systemCall { epoll_create1(CInt(EPOLL_CLOEXEC)) }
    bell = nil
  }

  /// A poller that registers nothing and waits for the bell.
  init(waitingFor bell: DispatchSemaphore) {
    descriptor = -1
    self.bell = bell
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  func add(_ fd: CInt, events: IOEvents, token: UInt64) throws(Errno) {
    try control(EPOLL_CTL_ADD, fd, events, token)
  }

  func modify(_ fd: CInt, events: IOEvents, token: UInt64) throws(Errno) {
    try control(EPOLL_CTL_MOD, fd, events, token)
  }

  func remove(_ fd: CInt) {
    var event = epoll_event()
    epoll_ctl(descriptor, EPOLL_CTL_DEL, fd, &event)
  }

  /// Waits for readiness until `end`, for ever if that is the distant future, and not at all if it is nil. Returns how
  /// many descriptors `forEach` will report.
  func wait(until end: MonotonicTime?) -> Int {
    let milliseconds = end.map(Self.milliseconds(until:)) ?? 0
    if let bell {
      _ = bell.wait(timeout: milliseconds < 0 ? .distantFuture : .now() + .milliseconds(Int(milliseconds)))
      return 0
    }
    let count = buffer.withUnsafeMutableBufferPointer {
      epoll_wait(descriptor, $0.baseAddress, CInt($0.count), milliseconds)
    }
    return max(0, Int(count))
  }

  /// Passes on each token of the last wait with its events.
  func forEach(_ count: Int, _ body: (UInt64, IOEvents) -> Void) {
    for index in 0..<count {
      let event = buffer[index]
      body(event.data.u64, IOEvents(rawValue: event.events))
    }
  }

  /// The time until `end` in epoll's terms, where −1 is for ever. Rounds up, so that a timer is due when the wait ends.
  private static func milliseconds(until end: MonotonicTime) -> CInt {
    if end == .distantFuture { return -1 }
    let now = MonotonicTime.now
    guard end > now else { return 0 }
    return CInt(clamping: min((end.nanoseconds - now.nanoseconds) / 1_000_000 + 1, 3_600_000))
  }

  private func control(_ operation: CInt, _ fd: CInt, _ events: IOEvents, _ token: UInt64) throws(Errno) {
    var event = epoll_event(events: events.rawValue, data: epoll_data_t(u64: token))
    _ = try systemCall { epoll_ctl(descriptor, operation, fd, &event) }
  }
}

import CLinux
import Glibc

/// The descriptors that the fuzzing thread looks after between its calls.
package final class Poll {
  private let descriptor: CInt
  private var handlers: [CInt: () -> Void] = [:]

  package init() {
    descriptor = epoll_create1(CInt(EPOLL_CLOEXEC))
    guard descriptor >= 0 else { fatalError("no epoll: \(errno)") }
  }

  /// Calls `handler` in each step in which something can be read, or the peer is gone.
  package func watch(_ fd: CInt, _ handler: @escaping () -> Void) {
    handlers[fd] = handler
    var event = epoll_event()
    event.events = EPOLLIN.rawValue
    event.data.fd = fd
    guard epoll_ctl(descriptor, EPOLL_CTL_ADD, fd, &event) == 0 else { fatalError("epoll_ctl: \(errno)") }
  }

  /// Before the descriptor is closed.
  package func forget(_ fd: CInt) {
    handlers[fd] = nil
    epoll_ctl(descriptor, EPOLL_CTL_DEL, fd, nil)
  }

  /// Handles what there is, after waiting for it that long. False if there is nothing.
  package func step(milliseconds: CInt) -> Bool {
    var events = [epoll_event](repeating: epoll_event(), count: 16)
    let count = epoll_wait(descriptor, &events, CInt(events.count), milliseconds)
    guard count > 0 else { return false }
    for event in events.prefix(Int(count)) { handlers[event.data.fd]?() }
    return true
  }
}

public import Dispatch

/// Passes each event on to several monitors, in order: inline ones at once, others on their queues.
///
/// Made by ``Session`` and ``Request``; its own methods do nothing.
public final class CompositeEventMonitor: EventMonitor {
  private struct Member {
    let monitor: any EventMonitor
    let interests: EventInterests
    /// Nil for an inline monitor.
    let queue: DispatchQueue?
  }

  public let queue = DispatchQueue(label: "weir.compositeEventMonitor")
  /// The union of what the members want.
  public let interests: EventInterests
  private let members: [Member]

  init(_ monitors: [any EventMonitor]) {
    members = monitors.map {
      Member(monitor: $0, interests: $0.interests, queue: $0 is any InlineEventMonitor ? nil : $0.queue)
    }
    interests = members.reduce(into: []) { $0.formUnion($1.interests) }
  }

  /// The members, in the order in which they are called.
  public var monitors: [any EventMonitor] { members.map(\.monitor) }

  func adding(_ monitor: any EventMonitor) -> CompositeEventMonitor {
    CompositeEventMonitor(monitors + [monitor])
  }

  /// Whether anybody listens; ask before preparing an event.
  @inline(__always)
  func wants(_ interest: EventInterests) -> Bool {
    interests.rawValue & interest.rawValue != 0
  }

  func send(_ interest: EventInterests, _ event: @escaping @Sendable (any EventMonitor) -> Void) {
    for member in members where member.interests.rawValue & interest.rawValue != 0 {
      if let queue = member.queue {
        queue.async { event(member.monitor) }
      } else {
        event(member.monitor)
      }
    }
  }
}

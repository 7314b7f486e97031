public import Dispatch

/// Passes each event on to several monitors, in order: inline ones at once, others on their queues.
///
/// Made by ``Session`` and ``Request``. Who gets one as a monitor takes its members in its place.
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
  /// The members that observe the transport themselves.
  let observers: [any SharedTransportObserver]

  /// A composite among them, another session's say, stands for those it is made of: each has a queue of its own.
  convenience init(_ monitors: [any EventMonitor]) {
    self.init(
      members: monitors.flatMap { monitor in
        if let composite = monitor as? CompositeEventMonitor { return composite.members }
        return [
          Member(
            monitor: monitor, interests: monitor.interests,
            queue: monitor is any InlineEventMonitor ? nil : monitor.queue)
        ]
      })
  }

  private init(members: [Member]) {
    self.members = members
    observers = members.compactMap { $0.monitor as? any SharedTransportObserver }
    interests = members.reduce(into: []) { $0.formUnion($1.interests) }
  }

  /// The members, in the order in which they are called.
  public var monitors: [any EventMonitor] { members.map(\.monitor) }

  /// Asks nobody anything.
  func adding(_ other: CompositeEventMonitor) -> CompositeEventMonitor {
    CompositeEventMonitor(members: members + other.members)
  }

  var isEmpty: Bool { members.isEmpty }

  /// Whether anybody listens; ask before preparing an event.
  @inline(__always)
  func wants(_ interest: EventInterests) -> Bool {
    interests.rawValue & interest.rawValue != 0
  }

  /// Tells everybody who wants to hear. Without an allocation for inline monitors: `event` gets what it speaks of as
  /// `arguments` and captures nothing.
  @inline(__always)
  func send<Arguments: Sendable>(
    _ interest: EventInterests, _ arguments: Arguments,
    _ event: @escaping @Sendable (any EventMonitor, Arguments) -> Void
  ) {
    guard wants(interest) else { return }
    for index in members.indices where members[index].interests.rawValue & interest.rawValue != 0 {
      if let queue = members[index].queue {
        let monitor = members[index].monitor
        queue.async { event(monitor, arguments) }
      } else {
        event(members[index].monitor, arguments)
      }
    }
  }
}

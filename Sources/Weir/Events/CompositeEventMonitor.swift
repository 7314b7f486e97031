public import Dispatch

/// Passes each event on to several monitors, in order: to inline monitors at once, to others on their queues.
///
/// ``Session`` and ``Request`` create composites. A composite that is added as a monitor is replaced by its members.
public final class CompositeEventMonitor: EventMonitor, UniformEventMonitor {
  private struct Member {
    let monitor: any EventMonitor
    let interests: EventInterests
    /// Nil also for one that does not want records.
    let traceSampler: TraceSampler?
    /// Nil for an inline monitor.
    let queue: DispatchQueue?

    init(_ monitor: any EventMonitor) {
      self.monitor = monitor
      interests = monitor.interests
      traceSampler = interests.contains(.records) ? monitor.traceSampler : nil
      queue = monitor is any InlineEventMonitor ? nil : monitor.queue
    }
  }

  public let queue = DispatchQueue(label: "weir.compositeEventMonitor")
  /// The union of the members' interests.
  public let interests: EventInterests
  /// The sampler of the first member that has one.
  public let traceSampler: TraceSampler?
  private let members: [Member]
  /// The members that observe the transport themselves.
  let observers: [any SharedTransportObserver]

  /// Replaces a composite among the monitors, such as another session's, by its members: each has a queue of its own.
  convenience init(_ monitors: [any EventMonitor]) {
    self.init(
      members: monitors.flatMap { monitor in
        if let composite = monitor as? CompositeEventMonitor { return composite.members }
        return [Member(monitor)]
      })
  }

  private init(members: [Member]) {
    self.members = members
    observers = members.compactMap { $0.monitor as? any SharedTransportObserver }
    interests = members.reduce(into: []) { $0.formUnion($1.interests) }
    traceSampler = members.lazy.compactMap(\.traceSampler).first
  }

  /// The members, in the order in which they are called.
  public var monitors: [any EventMonitor] { members.map(\.monitor) }

  /// Joins two composites; the members' interests are not read again.
  func adding(_ other: CompositeEventMonitor) -> CompositeEventMonitor {
    CompositeEventMonitor(members: members + other.members)
  }

  var isEmpty: Bool { members.isEmpty }

  /// Whether a member wants such events; check it before preparing an event.
  @inline(__always)
  func wants(_ interest: EventInterests) -> Bool {
    interests.rawValue & interest.rawValue != 0
  }

  /// Tells each member that wants the event.
  @inline(__always)
  func handle<Arguments: Sendable>(
    _ interest: EventInterests, _ arguments: Arguments,
    _ event: @escaping @Sendable (any EventMonitor, Arguments) -> Void,
    _ closure: (ClosureEventMonitor) -> Void, _ line: (LoggingEventMonitor) -> Void
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

package import Foundation
package import WeirCurl
package import WeirOTLP
package import WeirTransport

// The events of spans, of the library and of the gateway: what an attempt waited for, and why a request has no other.
extension Span.Event {
  /// A retry was granted.
  package static func retry(for reason: RetryReason, after delay: Double, at time: UInt64) -> Span.Event {
    Span.Event(
      "retry", at: time,
      [Attribute("weir.retry.reason", reason.rawValue), Attribute("weir.retry.delay", .double(delay))])
  }

  /// A retry was denied.
  package static func denied(_ reason: RetryDenial.Reason, at time: UInt64) -> Span.Event {
    Span.Event("retry denied", at: time, [Attribute("weir.retry.denied", reason.rawValue)])
  }

  /// A second attempt beside a slow one was denied.
  package static func deniedHedge(at time: UInt64) -> Span.Event { Span.Event("hedge denied", at: time) }

  /// Load control or the pace refused the request.
  package static func shed(_ reason: ShedReason, at time: UInt64) -> Span.Event {
    Span.Event("shed", at: time, [Attribute("weir.shed.reason", reason.rawValue)])
  }

  /// An attempt has waited so many seconds for its turn by the destination's pace.
  package static func paced(for seconds: Double, at time: UInt64) -> Span.Event {
    Span.Event("paced", at: time, [Attribute("weir.pace.wait", .double(seconds))])
  }

  /// An adapter, or a credential of this name, was waited for. Nil if that took at most 1 ms and succeeded.
  package static func adapted(
    by name: String, for seconds: Double, failed: AdaptationFailure?, at time: UInt64
  ) -> Span.Event? {
    guard seconds > shortest || failed != nil else { return nil }
    var attributes = [Attribute("weir.adapter", name), Attribute("weir.adapter.wait", .double(seconds))]
    if let failed { attributes.append(Attribute("error.type", failed.rawValue)) }
    return Span.Event("adapted", at: time, attributes)
  }

  /// A redirect was followed.
  package static func redirect(_ status: Int, to destination: Destination, at time: UInt64) -> Span.Event {
    Span.Event(
      "redirect", at: time,
      [Attribute("http.response.status_code", status), Attribute("weir.redirect.origin", "\(destination)")])
  }

  /// The ends of those phases of an attempt of one hop that took more than 1 ms.
  ///
  /// - Parameter isBroken: Whether no head came: the last phase then has no end.
  package static func phases(_ phases: PhaseDurations, from start: UInt64, isBroken: Bool) -> [Span.Event] {
    var (events, elapsed, last) = ([Span.Event](), 0.0, Phase.queue)
    if isBroken { phases.forEach { phase, _ in last = phase } }
    phases.forEach { phase, seconds in
      // The wait for a slot is over before the attempt begins.
      if phase == .queue { return }
      elapsed += seconds
      guard seconds > shortest, phase != last, let name = names[phase] else { return }
      events.append(Span.Event(name, at: start &+ UInt64(nanosecondsIn: elapsed)))
    }
    return events
  }

  /// The seconds from which on a phase or a wait is an event.
  private static let shortest = 0.001
  private static let names: [Phase: String] = [
    .resolve: "dns", .connect: "connect", .tunnel: "tunnel", .tls: "tls", .send: "sent", .processing: "head",
  ]
}

extension UInt64 {
  /// The nanoseconds in so many seconds; 0 for what is no such number.
  package init(nanosecondsIn seconds: Double) {
    let nanoseconds = seconds * 1e9
    self = nanoseconds > 0 && nanoseconds < 0x1p63 ? UInt64(nanoseconds) : 0
  }

  /// Nanoseconds from 1970 to this date.
  package init(nanosecondsOf date: Date) { self.init(nanosecondsIn: date.timeIntervalSince1970) }
}

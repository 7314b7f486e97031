import WeirCurl
import WeirIO

// The endpoint that an attempt goes to, where its destination has a set of them.
extension Attempt {
  /// Chooses the endpoint for the next hop, if its destination has endpoints of its own (``Transport/use(_:)``).
  ///
  /// - Parameters:
  ///   - destination: The hop's.
  ///   - key: The hash of the part of the request by which an endpoint is chosen; nil if it has none.
  /// - Returns: False if the destination should have endpoints and has none.
  package func findEndpoint(at destination: Destination?, key: UInt64?) -> Bool {
    guard let destination, let choice = transport.endpoints(of: destination) else {
      leaveEndpoint()
      return true
    }
    return findEndpoint(by: choice, at: destination, key: key)
  }

  /// Chooses the endpoint for the next hop. A hop among the same endpoints stays where the one before went.
  ///
  /// - Returns: False if there is none.
  package func findEndpoint(by choice: EndpointChoice, at destination: Destination, key: UInt64?) -> Bool {
    if stay?.set === choice.set { return true }
    leaveEndpoint()
    let now = MonotonicTime.now
    let trail = terms.trail.flatMap { $0.set === choice.set ? $0 : nil } ?? EndpointTrail(choice.set)
    terms.trail = trail
    guard let endpoint = choice.pick(key: key, excluding: trail.tried, isHedge: isHedge, at: now) else {
      return false
    }
    trail.tried.insert(endpoint)
    trail.last = endpoint
    endpoint.begins()
    stay = EndpointStay(at: endpoint, of: choice.set, destination: destination, began: now)
    return true
  }

  /// Whether load control should hear nothing of a caller that left: the endpoint is slower than the others by far, and
  /// must not throttle them.
  func isAtSlowEndpoint(at now: MonotonicTime) -> Bool { stay?.endpoint.isMuchSlower(at: now) ?? false }

  /// Tells the endpoint of the final head.
  func tellEndpoint(status: Int, at now: MonotonicTime) {
    guard let began = stay?.began else { return }
    let seconds = now.seconds(since: began)
    tellEndpoint(Self.isFailure(status) ? .failed(after: seconds) : .answered(firstByteAfter: seconds), at: now)
  }

  /// Tells the endpoint of an end without a final head.
  func tellEndpoint(_ departure: Departure, _ report: AttemptReport, at now: MonotonicTime) {
    guard let began = stay?.began else { return }
    let seconds = now.seconds(since: began)
    switch departure {
    case .withdrawn: tellEndpoint(.withdrawn, at: now)
    case .callerGaveUp: tellEndpoint(.givenUp(after: seconds), at: now)
    case .failed, .timedOut:
      let isUnsent = report.phases[.send] == nil && report.phases[.processing] == nil
      couldNotConnect = isUnsent
      tellEndpoint(isUnsent ? .connectFailed(after: seconds) : .failed(after: seconds), at: now)
    }
  }

  private func tellEndpoint(_ ending: EndpointEnding, at now: MonotonicTime) {
    guard let stay, !stay.isTold else { return }
    stay.isTold = true
    let event = stay.set.ended(ending, of: stay.endpoint, began: stay.began, at: now)
    if let event { transport.tell(stay.destination, event) }
  }

  /// The attempt is over, or goes on elsewhere.
  func leaveEndpoint(at now: @autoclosure () -> MonotonicTime = .now) {
    guard let stay else { return }
    tellEndpoint(.withdrawn, at: now())
    self.stay = nil
    stay.leave()
    if !stay.endpoint.isMember { transport.closeIdleConnections(to: [stay.endpoint.destination]) }
  }

  /// The decision on a failure that no rule has to be asked about: as nothing was sent, any request may go to another
  /// endpoint at once. Nil if the attempt got further, or if there is no other endpoint.
  package func elsewhere() -> RetryDecision? {
    guard couldNotConnect, let trail = terms.trail,
      trail.connectRetries < trail.set.settings.boundedConnectRetries, trail.set.hasAvailable(besides: trail.tried)
    else { return nil }
    trail.connectRetries += 1
    return .retry(after: 0, source: .backoff)
  }
}

/// An attempt's stay at an endpoint, from the choice to the end of the attempt. An object, so that an attempt without
/// one stays small.
final class EndpointStay {
  let endpoint: Endpoint
  let set: EndpointSet
  let destination: Destination
  let began: MonotonicTime
  /// Whether the set knows how the attempt went.
  @exclusivity(unchecked) var isTold = false
  /// Whether the attempt counts no more at the endpoint.
  @exclusivity(unchecked) private var hasLeft = false

  init(at endpoint: Endpoint, of set: EndpointSet, destination: Destination, began: MonotonicTime) {
    self.endpoint = endpoint
    self.set = set
    self.destination = destination
    self.began = began
  }

  /// The attempt counts no more at the endpoint.
  func leave() {
    if hasLeft { return }
    hasLeft = true
    endpoint.leaves()
  }
}

import WeirCurl
import WeirIO

// The endpoint that an attempt goes to, where its destination has several.
extension Attempt {
  /// Chooses the endpoint for the next hop. A hop to the same destination stays where the one before went.
  ///
  /// - Parameter destination: The hop's.
  /// - Returns: False if the destination should have endpoints and has none that takes another attempt.
  package func findEndpoint(at destination: Destination?) -> Bool {
    guard let choice = transport.endpoints(of: destination) else {
      if stay != nil { leaveEndpoint(at: .now) }
      return true
    }
    if stay?.set === choice.set { return true }
    let now = MonotonicTime.now
    if stay != nil { leaveEndpoint(at: now) }
    guard let endpoint = choice.pick(key: terms.balanceKey, excluding: terms.tried, at: now) else { return false }
    terms.tried.insert(endpoint)
    endpoint.begins()
    stay = EndpointStay(endpoint: endpoint, set: choice.set, began: now)
    return true
  }

  /// The name of the endpoint that the present hop leads to, `host:port` or `unix:/path`; nil without one.
  package var endpointName: String? { stay?.endpoint.name }

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
      if isUnsent { terms.couldNotConnect() }
      tellEndpoint(isUnsent ? .connectFailed(after: seconds) : .failed(after: seconds), at: now)
    }
  }

  private func tellEndpoint(_ ending: EndpointEnding, at now: MonotonicTime) {
    guard let stay, !stay.isTold else { return }
    self.stay?.isTold = true
    let event = stay.set.ended(ending, of: stay.endpoint, began: stay.began, at: now)
    if let event, let destination = lease.destination { transport.tell(destination.destination, event) }
  }

  /// The attempt is over, or goes on elsewhere.
  func leaveEndpoint(at now: MonotonicTime) {
    tellEndpoint(.withdrawn, at: now)
    guard let stay else { return }
    self.stay = nil
    stay.endpoint.leaves()
    if !stay.endpoint.isMember { transport.closeIdleConnections(to: [stay.endpoint.destination]) }
  }
}

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
    if selection?.set === choice.set { return true }
    leaveEndpoint()
    let now = MonotonicTime.now
    let history = admission.endpointHistory.flatMap { $0.set === choice.set ? $0 : nil } ?? EndpointHistory(choice.set)
    admission.endpointHistory = history
    guard let endpoint = choice.pick(key: key, excluding: history.tried, isHedge: isHedge, at: now) else {
      return false
    }
    history.tried.insert(endpoint)
    history.last = endpoint
    endpoint.begins()
    selection = EndpointSelection(at: endpoint, of: choice.set, destination: destination, began: now)
    return true
  }

  /// Whether load control should hear nothing of a caller that left: the endpoint is slower than the others by far, and
  /// must not throttle them.
  func isAtSlowEndpoint(at now: MonotonicTime) -> Bool { selection?.endpoint.isMuchSlower(at: now) ?? false }

  /// Tells the endpoint of the final head.
  func tellEndpoint(failed: Bool, at now: MonotonicTime) {
    guard let began = selection?.began else { return }
    let seconds = now.seconds(since: began)
    tellEndpoint(failed ? .failed(after: seconds) : .answered(firstByteAfter: seconds), at: now)
  }

  /// Tells the endpoint of an end without a final head.
  func tellEndpoint(_ ending: AttemptEnding, _ report: AttemptReport, at now: MonotonicTime) {
    guard let began = selection?.began else { return }
    let seconds = now.seconds(since: began)
    switch ending {
    case .withdrawn: tellEndpoint(.withdrawn, at: now)
    case .callerGaveUp: tellEndpoint(.givenUp(after: seconds), at: now)
    case .failed, .timedOut:
      couldNotConnect = report.isUnsent
      tellEndpoint(report.isUnsent ? .connectFailed(after: seconds) : .failed(after: seconds), at: now)
    }
  }

  private func tellEndpoint(_ ending: EndpointEnding, at now: MonotonicTime) {
    guard let selection, !selection.isTold else { return }
    selection.isTold = true
    let event = selection.set.ended(ending, of: selection.endpoint, began: selection.began, at: now)
    if let event { transport.observer?.destination(selection.destination, endpoint: event) }
  }

  /// The attempt is over, or goes on elsewhere.
  func leaveEndpoint(at now: @autoclosure () -> MonotonicTime = .now) {
    guard let selection else { return }
    tellEndpoint(.withdrawn, at: now())
    self.selection = nil
    selection.leave()
    if !selection.endpoint.isMember { transport.closeIdleConnections(to: [selection.endpoint.destination]) }
  }

  /// The decision on a failure that no rule has to be asked about: as nothing was sent, any request may go to another
  /// endpoint at once. Nil if the attempt got further, or if there is no other endpoint.
  package func elsewhere() -> RetryDecision? {
    guard couldNotConnect, let history = admission.endpointHistory,
      history.connectRetries < history.set.settings.boundedConnectRetries,
      history.set.hasAvailable(besides: history.tried)
    else { return nil }
    history.connectRetries += 1
    return .retry(after: 0, source: .backoff)
  }
}

/// The endpoint that was selected for an attempt, until the attempt's end. An object, so that an attempt without one stays
/// small.
final class EndpointSelection {
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

import WeirCurl
import WeirIO

/// One loop's choice among the endpoints of a set. Confined to the loop.
final class EndpointChoice {
  let set: EndpointSet
  @exclusivity(unchecked) private var picker: EndpointPicker
  /// Hears of endpoints that go for as long as this choice is used.
  private let watch: EndpointWatch

  /// - Parameter onDeparture: Called on any thread with the endpoints that go.
  init(_ set: EndpointSet, onDeparture: @escaping @Sendable ([TransferEndpoint]) -> Void) {
    self.set = set
    picker = EndpointPicker(set)
    watch = EndpointWatch(onDeparture)
    set.add(watch)
  }

  func pick(key: UInt64?, excluding tried: TriedEndpoints, at now: MonotonicTime) -> Endpoint? {
    picker.pick(key: key, excluding: tried, at: now)
  }
}

/// Hears of endpoints that go, on any thread.
final class EndpointWatch: Sendable {
  let onDeparture: @Sendable ([TransferEndpoint]) -> Void

  init(_ onDeparture: @escaping @Sendable ([TransferEndpoint]) -> Void) {
    self.onDeparture = onDeparture
  }
}

/// An exchange's attempts at the endpoints of a set. An object, so that an exchange without any stays small.
final class EndpointTrail {
  let set: EndpointSet
  /// The endpoints that were tried.
  @exclusivity(unchecked) var tried = TriedEndpoints()
  /// Retries because no connection could be opened.
  @exclusivity(unchecked) var connectRetries = 0

  init(_ set: EndpointSet) {
    self.set = set
  }
}

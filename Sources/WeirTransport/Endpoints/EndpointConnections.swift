import Synchronization

/// The open connections to one endpoint. Connections that lead there have it as their tag.
final class EndpointConnections: Sendable {
  let destination: Destination
  private let number = Atomic<Int>(0)

  init(_ destination: Destination) {
    self.destination = destination
  }

  var count: Int { number.load(ordering: .relaxed) }

  func opened() { number.wrappingAdd(1, ordering: .relaxed) }

  func closed() { number.wrappingSubtract(1, ordering: .relaxed) }
}

import Synchronization

/// The open connections to one endpoint. Connections that lead there have it as their tag.
final class EndpointConnections: Sendable {
  /// The tag that the connections would have without endpoints.
  let owner: any AnyObject & Sendable
  private let number = Atomic<Int>(0)

  init(_ owner: any AnyObject & Sendable) {
    self.owner = owner
  }

  var count: Int { number.load(ordering: .relaxed) }

  func opened() { number.wrappingAdd(1, ordering: .relaxed) }

  func closed() { number.wrappingSubtract(1, ordering: .relaxed) }
}

import WeirHTTP
import WeirServer

/// The protocols to which clients and upstreams of a route may switch, and the limits of the tunnels that follow.
package struct TunnelRule: Sendable, Equatable {
  /// Elements of an Upgrade field (RFC 9110 §7.8), which compare without case.
  package var protocols: [String]
  /// Seconds of silence both ways after which a tunnel is closed.
  package var idleTimeout: Double = 600
  /// Tunnels at once, of all workers.
  package var limit = 1024

  package init(protocols: [String]) {
    self.protocols = protocols
  }

  /// The protocols of the route among those that the client offers, in its order. Nil if it offers none of them.
  func offered(by fields: HeaderFields) -> String? {
    guard fields.mayNameFields else { return nil }
    var isNamed = false
    fields.forEachValue(of: "Connection") { value in
      if value.listElements.contains(where: { $0.spells("upgrade") }) { isNamed = true }
    }
    guard isNamed else { return nil }
    var offered: [String] = []
    fields.forEachValue(of: "Upgrade") { value in
      for element in value.listElements where allows(element) {
        offered.append(String(decoding: element, as: UTF8.self))
      }
    }
    return offered.isEmpty ? nil : offered.joined(separator: ", ")
  }

  private func allows(_ element: UnsafeRawBufferPointer) -> Bool {
    protocols.contains { $0.withOctets { element.equalsIgnoringCase($0) } }
  }
}

/// The process that traces and metrics are of, as attributes: `service.name`, `host.name` and the like.
package struct Resource: Sendable, Hashable {
  package var attributes: [Attribute]

  package init(_ attributes: [Attribute] = []) { self.attributes = attributes }
}

/// The library that made spans or metrics.
package struct Scope: Sendable, Hashable {
  package let name: String
  /// Empty if it isn't known.
  package let version: String

  package init(_ name: String, version: String = "") { (self.name, self.version) = (name, version) }
}

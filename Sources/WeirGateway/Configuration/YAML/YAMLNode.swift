/// A value of a YAML document, with the place where it begins.
package struct YAMLNode: Sendable {
  package enum Content: Sendable {
    case scalar(YAMLScalar)
    case sequence([YAMLNode])
    case mapping([Entry])
  }

  package struct Entry: Sendable {
    package let key: String
    package let keyPosition: SourcePosition
    package let value: YAMLNode
  }

  /// Unique in the document.
  package let id: Int
  package let position: SourcePosition
  package let content: Content

  /// How an error text names this value: `a mapping`, `the integer 5`.
  package func summary(quotingValue: Bool) -> String {
    switch content {
    case .mapping: "a mapping"
    case .sequence: "a list"
    case .scalar(let scalar): quotingValue ? scalar.summary : scalar.discreetSummary
    }
  }

  func child(_ step: ConfigurationPath.Step) -> YAMLNode? {
    switch (step, content) {
    case (.key(let name), .mapping(let entries)): entries.first { $0.key == name }?.value
    case (.index(let index), .sequence(let nodes)) where nodes.indices.contains(index): nodes[index]
    default: nil
    }
  }
}

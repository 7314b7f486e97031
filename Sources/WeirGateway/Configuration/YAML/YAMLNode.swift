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

  package let position: SourcePosition
  package let content: Content

  /// The words for this value in an error text: `a mapping`, `the integer 5`.
  package func summary(quotingValue: Bool) -> String {
    switch content {
    case .mapping: "a mapping"
    case .sequence: "a list"
    case .scalar(let scalar): quotingValue ? scalar.summary : scalar.discreetSummary
    }
  }
}

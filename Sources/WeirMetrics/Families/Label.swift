/// A label's name and the type of its values, given when a family is registered.
///
/// A string literal is a label of strings; `Label("code", as: Int.self)` is one of numbers.
public struct Label<Value: LabelValue>: Sendable {
  /// `[a-zA-Z_][a-zA-Z0-9_]*`, not `le` and not beginning with `__`; checked when the family is registered.
  public let name: String

  /// A label whose values are of another type than `String`.
  public init(_ name: String, as type: Value.Type) {
    self.name = name
  }
}

extension Label: ExpressibleByStringLiteral, ExpressibleByExtendedGraphemeClusterLiteral,
  ExpressibleByUnicodeScalarLiteral
where Value == String {
  public init(stringLiteral name: String) {
    self.init(name, as: String.self)
  }
}

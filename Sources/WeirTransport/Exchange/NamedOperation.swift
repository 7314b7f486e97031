import WeirIO

/// The operation that requests are part of, by a name that somebody gave it, such as `GET /users/{id}`.
package struct NamedOperation: Sendable, Equatable {
  package let name: String

  /// - Parameter name: Longer ones are cut off after ``longest`` bytes.
  package init(_ name: String) {
    self.name = name.cut(after: Self.longest)
  }

  /// The most bytes of a name, as it becomes the value of a label.
  package static let longest = 200

  /// The name of a span of such a request.
  ///
  /// - Parameter method: The span's name without an operation.
  package func spanName(of method: String) -> String { name.hasPrefix(method + " ") ? name : "\(method) \(name)" }

  /// The template of the path, if the name has one: `/users/{id}` of `GET /users/{id}`.
  package var pathTemplate: String? {
    guard let slash = name.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
    let before = name.utf8[..<slash]
    // A method is a word, and a blank.
    guard before.isEmpty || before.last == UInt8(ascii: " ") && !before.dropLast().contains(UInt8(ascii: " ")) else {
      return nil
    }
    return String(name[slash...])
  }
}

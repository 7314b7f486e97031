package import Synchronization

/// The operation that requests are part of, by a name that somebody gave it, such as `GET /users/{id}`. Any thread may use
/// it.
package final class NamedOperation: Sendable, Equatable {
  package let name: String
  /// An observer's own notes about the operation's requests. Observers that share it replace each other's.
  package let note = Mutex<(any AnyObject & Sendable)?>(nil)

  /// - Parameter name: Longer ones are cut off after ``longest`` bytes.
  package init(_ name: String) {
    self.name =
      name.utf8.count <= Self.longest ? name : String(decoding: name.utf8.prefix(Self.longest), as: UTF8.self)
  }

  /// Whether they have the same name.
  package static func == (one: NamedOperation, other: NamedOperation) -> Bool { one.name == other.name }

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

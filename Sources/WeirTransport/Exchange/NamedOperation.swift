package import Synchronization

/// The operation that requests are part of, by a name that somebody gave it, such as `GET /users/{id}`. Any thread may use
/// it.
package final class NamedOperation: Sendable, Equatable {
  package let name: String
  /// An observer's own notes about the operation's requests. Observers that share it replace each other's.
  package let note = Mutex<(any AnyObject & Sendable)?>(nil)

  /// - Parameter name: Longer ones are cut off after ``longest`` bytes.
  package init(_ name: String) {
    self.name = name.cut(after: Self.longest)
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

extension String {
  /// The text, or as much of its beginning as fits into so many octets of UTF-8. Octets count, as one character may have
  /// thousands of them.
  package func cut(after count: Int) -> String {
    guard utf8.count > count else { return self }
    // A scalar's further octets begin with 10.
    var end = utf8.index(utf8.startIndex, offsetBy: count)
    while end > utf8.startIndex, utf8[end] & 0xc0 == 0x80 { end = utf8.index(before: end) }
    return String(decoding: utf8[..<end], as: UTF8.self)
  }
}

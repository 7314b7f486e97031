/// One value of a form while it is encoded: containers write into the node they were made for.
final class FormNode {
  enum Content {
    case empty
    case text(String)
    case array([FormNode])
    case object([(key: String, node: FormNode)])
  }

  private(set) var content = Content.empty

  /// Sets the text; false when the node holds something already.
  func setText(_ text: String) -> Bool {
    guard case .empty = content else { return false }
    content = .text(text)
    return true
  }

  /// Makes the node an object, or leaves it one; false when it holds something else.
  func becomeObject() -> Bool {
    switch content {
    case .empty: content = .object([])
    case .object: break
    case .text, .array: return false
    }
    return true
  }

  /// Makes the node an array, or leaves it one; false when it holds something else.
  func becomeArray() -> Bool {
    switch content {
    case .empty: content = .array([])
    case .array: break
    case .text, .object: return false
    }
    return true
  }

  /// A new child under a key; a key that comes twice gives two pairs, as forms allow.
  func appendChild(forKey key: String) -> FormNode {
    guard case .object(var children) = content else { return FormNode() }
    // Gives up the other reference to the array, which would else be copied.
    content = .empty
    let node = FormNode()
    children.append((key, node))
    content = .object(children)
    return node
  }

  /// The child under a key if there is one.
  func child(forKey key: String) -> FormNode? {
    guard case .object(let children) = content else { return nil }
    return children.first { $0.key == key }?.node
  }

  /// A new child at the end.
  func appendChild() -> FormNode {
    guard case .array(var children) = content else { return FormNode() }
    content = .empty
    let node = FormNode()
    children.append(node)
    content = .array(children)
    return node
  }

  var childCount: Int {
    guard case .array(let children) = content else { return 0 }
    return children.count
  }
}

extension FormNode: CustomStringConvertible {
  var description: String {
    switch content {
    case .empty: "nothing"
    case .text(let text): text.debugDescription
    case .array(let nodes): "[\(nodes.map(\.description).joined(separator: ", "))]"
    case .object(let children): "[\(children.map { "\($0.key): \($0.node)" }.joined(separator: ", "))]"
    }
  }
}

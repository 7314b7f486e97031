/// Writes a tree of nodes as `key=value` pairs.
struct FormSerializer {
  let alphabetizes: Bool
  let arrayEncoding: URLEncodedFormEncoder.ArrayEncoding
  let keyEncoding: URLEncodedFormEncoder.KeyEncoding
  let keyPathEncoding: URLEncodedFormEncoder.KeyPathEncoding
  let spaceAsPlus: Bool
  let escaper: PercentEscaper

  func text(of root: FormNode) -> String {
    guard case .object(let members) = root.content else { return "" }
    return joined(members.all.map { text(of: $0.node, path: $0.key) })
  }

  private func text(of node: FormNode, path: String) -> String {
    switch node.content {
    case .empty: ""
    case .text(let text): "\(escaped(keyEncoding.encode(path)))=\(escaped(text))"
    case .object(let members):
      joined(members.all.map { text(of: $0.node, path: path + keyPathEncoding.encode($0.key)) })
    case .array(let nodes):
      joined(nodes.enumerated().map { text(of: $1, path: arrayEncoding.encode(path, atIndex: $0)) })
    }
  }

  /// A level's texts in order; an empty array or object leaves none.
  private func joined(_ texts: [String]) -> String {
    let present = texts.filter { !$0.isEmpty }
    return (alphabetizes ? present.sorted() : present).joined(separator: "&")
  }

  private func escaped(_ text: String) -> String {
    escaper.escape(text, spaceAsPlus: spaceAsPlus)
  }
}

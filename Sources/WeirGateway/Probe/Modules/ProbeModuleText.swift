import WeirTransport

/// A module as text, for people who look for what a probe did. Secrets are left out.
enum ProbeModuleText {
  private static let secrets: Set<String> = ["password", "credentials", "bearer_token", "body"]
  private static let placeholder = "<secret>"

  static func text(of node: YAMLNode) -> String {
    var text = ""
    append(node, indent: 0, isSecret: false, to: &text)
    return text
  }

  private static func append(_ node: YAMLNode, indent: Int, isSecret: Bool, to text: inout String) {
    let blank = String(repeating: "  ", count: indent)
    switch node.content {
    case .scalar(let scalar): text += isSecret ? placeholder : scalar.asText
    case .sequence(let nodes):
      for element in nodes {
        text += "\(blank)-"
        appendInside(element, indent: indent, isSecret: isSecret, to: &text)
      }
    case .mapping(let entries):
      for entry in entries {
        let isSecret = isSecret || secrets.contains(entry.key) || Redaction.isSecretField(entry.key)
        text += "\(blank)\(entry.key):"
        appendInside(entry.value, indent: indent, isSecret: isSecret && !isMapping(entry.value), to: &text)
      }
    }
  }

  /// A mapping hides nothing by its own name: `authorization` holds a type besides the credentials.
  private static func isMapping(_ node: YAMLNode) -> Bool {
    if case .mapping = node.content { true } else { false }
  }

  private static func appendInside(_ node: YAMLNode, indent: Int, isSecret: Bool, to text: inout String) {
    if case .scalar = node.content {
      text += " "
      append(node, indent: 0, isSecret: isSecret, to: &text)
      text += "\n"
    } else {
      text += "\n"
      append(node, indent: indent + 1, isSecret: isSecret, to: &text)
    }
  }
}

extension YAMLScalar {
  /// Strings that would read as something else are quoted, and so are those of several lines.
  fileprivate var asText: String {
    guard case .string(let string) = value else { return text }
    let isPlain =
      YAMLScalar(plain: string).value == value && !string.contains { "\n\r\t\"'#:{}[],&*!|>%@`".contains($0) }
    return isPlain ? string : quoted(string, limit: 4096)
  }
}

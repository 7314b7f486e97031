import WeirOTLP

extension Span {
  /// The span's facts, one in each line; times in microseconds from its start.
  var text: [String] {
    let facts = attributes.map { "\($0)" } + events.map { "@\(microseconds($0.time)) \($0.text)" }
    let ending = isError ? ["error \(statusText)"] : []
    return ["\(kind) \(name) \(microseconds(end))"] + facts + ending
  }

  func value(_ key: String) -> Attribute.Value? { attributes.first { $0.key == key }?.value }

  private func microseconds(_ time: UInt64) -> Int { Int(((Double(time) - Double(start)) / 1000).rounded()) }
}

extension Span.Event {
  var text: String { ([name] + attributes.map { "\($0)" }).joined(separator: " ") }
}

extension Attribute: CustomStringConvertible {
  package var description: String {
    switch value {
    case .string(let text): "\(key)=\(text)"
    case .integer(let number): "\(key)=\(number)"
    case .double(let number): "\(key)=\(number)"
    case .boolean(let isSo): "\(key)=\(isSo)"
    }
  }
}

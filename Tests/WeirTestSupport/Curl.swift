package import WeirCurl

extension HeaderBlock {
  /// Adds a field given as `Name: value`.
  package mutating func append(line: String) {
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    append(name: parts.count < 2 ? "" : String(parts[0]), value: String(parts.last ?? ""))
  }
}

extension PreparedHeaders {
  /// - Parameter lines: Lines of the form `Name: value`; a name without a value sends an empty field.
  package convenience init(lines: [String]) {
    var block = HeaderBlock()
    for line in lines { block.append(line: line) }
    self.init(block)
  }
}

extension PhaseDurations: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (Phase, Double)...) {
    self.init()
    for (phase, seconds) in elements { self[phase] = seconds }
  }
}

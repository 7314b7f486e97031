/// The families of a page in the text format, as weir writes it: each with its help, its type, and all its samples.
struct Template {
  enum Kind: String {
    case counter, gauge, histogram
  }

  struct Family {
    let name: String
    let help: String
    let kind: Kind
    var labels: [String] = []
    /// By label values.
    var series: [[String]: Series] = [:]
  }

  struct Series {
    /// The count, of a histogram.
    var value = 0.0
    /// Upper bounds of a histogram, and how many observations are no larger.
    var bounds: [Double] = []
    var counts: [Double] = []
  }

  private(set) var families: [Family] = []

  init(page: String) throws {
    var helps: [Substring: String] = [:]
    for line in page.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 3)
      if line.hasPrefix("# HELP "), words.count == 4 {
        helps[words[2]] = String(words[3])
      } else if line.hasPrefix("# TYPE "), words.count == 4, let kind = Kind(rawValue: String(words[3])) {
        families.append(Family(name: String(words[2]), help: helps[words[2]] ?? "", kind: kind))
      } else if !line.hasPrefix("#") {
        try add(Sample(line))
      }
    }
  }

  /// A sample belongs to the family of the last `# TYPE` line.
  private mutating func add(_ sample: Sample) throws {
    guard let last = families.indices.last, sample.name.hasPrefix(families[last].name) else {
      throw Failure(text: "\(sample.name) is of no family")
    }
    let others = sample.labels.filter { $0.name != "le" }
    let bound = sample.labels.first { $0.name == "le" }.flatMap { Double($0.value) }
    families[last].labels = others.map(\.name)
    switch sample.name.dropFirst(families[last].name.count) {
    case "", "_count":
      families[last].series[others.map(\.value), default: Series()].value = sample.value
    case "_bucket":
      guard let bound, bound < .infinity else { return }
      families[last].series[others.map(\.value), default: Series()].bounds.append(bound)
      families[last].series[others.map(\.value), default: Series()].counts.append(sample.value)
    default:
      break
    }
  }
}

/// A line of a page.
struct Sample {
  let name: Substring
  var labels: [(name: String, value: String)] = []
  let value: Double

  init(_ line: Substring) throws {
    guard let blank = line.lastIndex(of: " "), let value = Double(line[line.index(after: blank)...]) else {
      throw Failure(text: "this line has no value: \(line)")
    }
    self.value = value
    let series = line[..<blank]
    guard let brace = series.firstIndex(of: "{") else {
      name = series
      return
    }
    name = series[..<brace]
    var rest = series[series.index(after: brace)...]
    while let equals = rest.firstIndex(of: "=") {
      let label = String(rest[..<equals])
      rest = rest[equals...].dropFirst(2)
      labels.append((label, Self.takeValue(&rest)))
      if rest.first == "," { rest.removeFirst() }
    }
  }

  /// Removes a value and the quote behind it.
  private static func takeValue(_ rest: inout Substring) -> String {
    var value = ""
    while let character = rest.popFirst(), character != "\"" {
      guard character == "\\", let escaped = rest.popFirst() else {
        value.append(character)
        continue
      }
      value.append(escaped == "n" ? "\n" : escaped)
    }
    return value
  }
}

import WeirMetrics

/// A registry whose labels, help texts and numbers are what a page can be broken with, and the samples it holds.
struct HostilePage {
  /// A sample as a reader has to see it.
  struct Sample: Hashable, Codable, CustomStringConvertible {
    let name: String
    let labels: [String: String]
    /// As Swift writes it, so that NaN equals itself.
    let value: String

    init(_ name: String, _ labels: [String: String], _ value: Double) {
      self.name = name
      self.labels = labels
      self.value = "\(value)"
    }

    var description: String { "\(name) \(labels.mapValues { $0.prefix(80).debugDescription }) \(value)" }
  }

  let registry = Registry(ownMetrics: false)
  private(set) var samples: Set<Sample> = []

  /// What is given as a label's value, and what a page shows for it.
  private static let texts: [(given: [UInt8], shown: String)] =
    [
      "", " ", "\"", "\\", "\n", "\\n", "\\\"", "\"\n", "a\u{0}b", "\u{0}", "\r\n", "\t", "\u{1B}[31m",
      "\u{85}\u{2028}",
      "{}", "{", "}", "#", "# EOF", "\n# EOF\n", " # {trace_id=\"x\"} 1 2", "a=\"b\",c=\"d\"",
      "} 5\nforged_total{value=\"",
      "forged_total 1", "\u{FEFF}", "\u{FFFF}\u{10FFFF}", "\u{1F469}\u{200D}\u{1F680}", "é",
      "$__name__ ${1} %s",
    ].map { (Array($0.utf8), $0) } + [
      // Bytes that are no UTF-8: a lone continuation, a cut sequence, an overlong slash, a surrogate.
      ([0x61, 0x80, 0x62], "a\u{FFFD}b"), ([0xF0, 0x9F, 0x98], "\u{FFFD}"), ([0xC0, 0xAF], "\u{FFFD}\u{FFFD}"),
      ([0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"), ([0xFF, 0x41], "\u{FFFD}A"),
      // A megabyte, and one whose 4,096th byte is within a scalar.
      (Array(repeating: 0x78, count: 1 << 20), String(repeating: "x", count: 4096)),
      ([0x79] + Array(String(repeating: "é", count: 1 << 19).utf8), "y" + String(repeating: "é", count: 2047)),
    ]

  private static let numbers: [Double] = [
    .nan, .infinity, -.infinity, 0, 0.1, -1e-7, 1e21, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0x1p53,
    123_456_789.125,
  ]

  /// Of exemplars; two are dropped, as there are readers that stumble over them.
  private static let traceIDs = ["\\ # \n \u{1} = é", "# {} 1", "\u{0}"]

  private static let help = "A \\ and\na \"line\" {le=\"1\"} 2 # \u{0} \u{2028}"

  init() throws {
    let value = Label("value", as: LabelBytes.self)
    let other = Label("other", as: LabelBytes.self)
    let counter = try registry.counter("hostile_total", help: Self.help, labels: value, other)
    let histogram = try registry.histogram("hostile_seconds", help: Self.help, buckets: [0.5, 1e6], labels: value)
    for (index, text) in Self.texts.enumerated() {
      counter.with(LabelBytes(text.given), LabelBytes(text.given.reversed())).increment(by: index + 1)
      histogram.with(LabelBytes(text.given)).observe(Double(index), traceID: Self.traceIDs[index % 3])
      let reversed = String(decoding: text.given.reversed().prefix(4096), as: UTF8.self)
      add("hostile_total", ["value": text.shown, "other": Self.cut(reversed)], Double(index + 1))
      let isLow = index == 0
      for (bound, count) in [("0.5", isLow ? 1 : 0), ("1e+06", 1), ("+Inf", 1)] {
        add("hostile_seconds_bucket", ["value": text.shown, "le": bound], Double(count))
      }
      add("hostile_seconds_sum", ["value": text.shown], Double(index))
      add("hostile_seconds_count", ["value": text.shown], 1)
    }
    let index = Label("index", as: Int.self)
    let gauge = try registry.gauge("hostile_number", help: "", labels: index)
    for (index, number) in Self.numbers.enumerated() {
      gauge.with(index).set(number)
      add("hostile_number", ["index": "\(index)"], number)
    }
    try registry.counter("hostile_large_total", help: "Large.").increment(by: .max)
    add("hostile_large_total", [:], Double(Int.max))
    try registry.info("hostile_build_info", help: "Info.", labels: ["value": "\"\n# EOF", "empty": ""])
    add("hostile_build_info", ["value": "\"\n# EOF", "empty": ""], 1)
  }

  private mutating func add(_ name: String, _ labels: [String: String], _ value: Double) {
    samples.insert(Sample(name, labels, value))
  }

  /// To 4 KiB on a scalar's boundary.
  private static func cut(_ text: String) -> String {
    var scalars = text.unicodeScalars
    while String(scalars).utf8.count > 4096 { scalars.removeLast() }
    return String(scalars)
  }
}

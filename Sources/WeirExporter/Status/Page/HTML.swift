/// Markup as bytes. What is interpolated into it is text and is escaped, unless it is markup itself.
struct HTML: ExpressibleByStringInterpolation, Sendable {
  private(set) var bytes: [UInt8]

  init() { bytes = [] }

  init(stringLiteral value: String) { bytes = Array(value.utf8) }

  init(stringInterpolation: Interpolation) { bytes = stringInterpolation.bytes }

  var count: Int { bytes.count }
  var isEmpty: Bool { bytes.isEmpty }

  mutating func reserveCapacity(_ count: Int) { bytes.reserveCapacity(count) }

  static func += (left: inout HTML, right: HTML) { left.bytes.append(contentsOf: right.bytes) }

  /// The elements' markup, one after the other.
  static func each<Element>(_ elements: some Sequence<Element>, _ markup: (Element) -> HTML) -> HTML {
    var all = HTML()
    for element in elements { all += markup(element) }
    return all
  }

  /// The same for as many elements as fit into so many bytes, and the number of those that are left out.
  static func each<Element>(
    _ elements: some Collection<Element>, within room: Int, _ markup: (Element) -> HTML
  ) -> (markup: HTML, left: Int) {
    var all = HTML()
    for (index, element) in elements.enumerated() {
      let next = markup(element)
      if all.count + next.count > room { return (all, elements.count - index) }
      all += next
    }
    return (all, 0)
  }

  /// The markup, or none. A conditional expression in an interpolation would be text.
  static func when(_ condition: Bool, _ markup: @autoclosure () -> HTML) -> HTML {
    condition ? markup() : HTML()
  }

  /// A table with these names of its columns.
  static func table(_ classes: String, _ columns: [String], _ rows: HTML) -> HTML {
    """
    <table class="\(classes)">
    <thead><tr>\(each(columns) { "<th scope=\"col\">\($0)" })</thead>
    <tbody>
    \(rows)</tbody>
    </table>

    """
  }

  struct Interpolation: StringInterpolationProtocol {
    fileprivate(set) var bytes: [UInt8] = []

    init(literalCapacity: Int, interpolationCount: Int) {
      bytes.reserveCapacity(literalCapacity + 16 * interpolationCount)
    }

    mutating func appendLiteral(_ literal: String) { bytes.append(contentsOf: literal.utf8) }

    mutating func appendInterpolation(_ text: String) { HTML.escape(text, to: &bytes) }

    mutating func appendInterpolation(_ number: Int) { bytes.append(contentsOf: String(number).utf8) }

    mutating func appendInterpolation(_ markup: HTML) { bytes.append(contentsOf: markup.bytes) }

    /// Text of which no more than so many characters (Unicode scalars) are shown, the last of them as an ellipsis.
    mutating func appendInterpolation(_ text: String, most: Int) {
      appendInterpolation(HTML.cut(text, most))
    }
  }

  private static func cut(_ text: String, _ most: Int) -> String {
    guard text.utf8.count > most else { return text }
    let scalars = text.unicodeScalars
    guard let end = scalars.index(scalars.startIndex, offsetBy: most, limitedBy: scalars.endIndex),
      end < scalars.endIndex
    else { return text }
    return String(scalars[..<scalars.index(before: end)]) + "…"
  }

  /// Escapes text for elements and for attributes in double quotes. Control characters, of which pages may hold few, are
  /// replaced by U+FFFD.
  static func escape(_ text: String, to bytes: inout [UInt8]) {
    var text = text
    text.withUTF8 { text in
      for byte in text {
        switch byte {
        case UInt8(ascii: "&"): bytes.append(contentsOf: "&amp;".utf8)
        case UInt8(ascii: "<"): bytes.append(contentsOf: "&lt;".utf8)
        case UInt8(ascii: ">"): bytes.append(contentsOf: "&gt;".utf8)
        case UInt8(ascii: "\""): bytes.append(contentsOf: "&quot;".utf8)
        case UInt8(ascii: "'"): bytes.append(contentsOf: "&#39;".utf8)
        case 0x7F, ..<0x20: bytes.append(contentsOf: "\u{FFFD}".utf8)
        default: bytes.append(byte)
        }
      }
    }
  }
}

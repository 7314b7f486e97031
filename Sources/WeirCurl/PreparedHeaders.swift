internal import CCurl
internal import Glibc

/// Request header lines in the form that libcurl takes, built once and shared by any number of transfers. Confined to
/// one loop.
///
/// Nothing is sent that is not listed, except Host, Content-Length, Transfer-Encoding, and a proxy's credential:
/// libcurl's own Accept, Content-Type and Expect are suppressed.
package final class PreparedHeaders {
  let list: UnsafeMutablePointer<curl_slist>?
  /// Why the lines can't be sent; a transfer with them fails.
  let defect: String?
  let expectsContinue: Bool

  /// - Parameter lines: `Name: value` each; a name without a value sends an empty field.
  package init(lines: [String]) {
    var builder = HeaderListBuilder()
    for line in lines { builder.append(line) }
    builder.suppressDefaults()
    list = builder.list
    defect = builder.defect
    expectsContinue = builder.hasExpect
  }

  deinit {
    curl_slist_free_all(list)
  }
}

private struct HeaderListBuilder {
  var list: UnsafeMutablePointer<curl_slist>?
  var defect: String?
  var hasExpect = false
  private var hasAccept = false
  private var hasContentType = false

  mutating func append(_ line: String) {
    guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), isSendable(line.utf8, colon) else {
      defect = defect ?? "a header line has no name or holds a line end or a zero byte"
      return
    }
    let name = line.utf8[..<colon]
    note(name)
    let hasValue = line.utf8[line.utf8.index(after: colon)...].contains { $0 != 32 && $0 != 9 }
    // libcurl reads "Name:" as "leave it out", and "Name;" as "send it empty".
    add(hasValue ? line : String(Substring(name)) + ";")
  }

  mutating func suppressDefaults() {
    if !hasAccept { add("Accept:") }
    if !hasContentType { add("Content-Type:") }
    if !hasExpect { add("Expect:") }
  }

  private func isSendable(_ line: String.UTF8View, _ colon: String.UTF8View.Index) -> Bool {
    colon > line.startIndex && !line.contains { $0 == 0 || $0 == 10 || $0 == 13 }
      && !line[..<colon].contains { $0 <= 32 || $0 == 127 || $0 == UInt8(ascii: ";") }
  }

  private mutating func note(_ name: Substring.UTF8View) {
    switch name.count {
    case 6:
      if isName(name, "accept") { hasAccept = true }
      if isName(name, "expect") { hasExpect = true }
    case 12:
      if isName(name, "content-type") { hasContentType = true }
    default: break
    }
  }

  private func isName(_ name: Substring.UTF8View, _ wanted: String) -> Bool {
    name.elementsEqual(wanted.utf8) { byte, lower in
      (byte &- 65 < 26 ? byte | 32 : byte) == lower
    }
  }

  private mutating func add(_ line: String) {
    guard let longer = curl_slist_append(list, line) else {
      defect = defect ?? "out of memory"
      return
    }
    list = longer
  }
}

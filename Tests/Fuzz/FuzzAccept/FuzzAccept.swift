import Foundation
import FuzzSupport
import WeirExporter
import WeirHTTP
import WeirMetrics

// Lines of the input are a scrape's Accept, Accept-Encoding, query, announced timeout and Authorization. What must hold for
// any of them: no trap, a timeout within the limit, what is asked for in front of a field is got whatever follows, and
// what was understood of a field reads the same when it is written down.
private func check(_ input: UnsafeRawBufferPointer) {
  let lines = input.split(
    separator: UInt8(ascii: "\n"), maxSplits: 4, omittingEmptySubsequences: false)
  let fields = lines.map { String(decoding: $0, as: UTF8.self) }
  let (accept, encoding) = (fields.first, fields.dropFirst().first)
  let (query, timeout) = (fields.dropFirst(2).first, fields.dropFirst(3).first)
  if let asked = request(query, accept, encoding, timeout) {
    guard asked.timeout > 0, asked.timeout <= 10 else { fatalError("\(asked.timeout) s") }
  }
  let openMetrics = "application/openmetrics-text;version=1.0.0;charset=utf-8, "
  guard
    let forced = request(
      "name[]=a&x=" + (query?.replacing("&", with: "") ?? ""), openMetrics + (accept ?? ""),
      "gzip, " + (encoding ?? ""), timeout)
  else {
    fatalError("gzip was offered")
  }
  guard forced.variant.format == .openMetrics, forced.variant.coding == .gzip, forced.variant.names == ["a"] else {
    fatalError("\(forced)")
  }
  for field in [accept, encoding] { checkList(field ?? "") }
  checkCredentials(fields.dropFirst(4).first ?? "")
}

private func request(_ query: String?, _ accept: String?, _ encoding: String?, _ timeout: String?) -> ScrapeRequest? {
  try? ScrapeRequest(
    query: query, accept: accept, acceptEncoding: encoding, announcedTimeout: timeout, timeoutLimit: 10)
}

private func checkList(_ field: String) {
  let list = Preference.list(field)
  let rewritten = list.map(text).joined(separator: " ,, ")
  guard Preference.list(rewritten) == list else { fatalError("\(field) became \(rewritten)") }
}

private func checkCredentials(_ field: String) {
  let written: String
  switch Credentials(authorization: field) {
  case nil: return
  case .basic(let name, let password):
    written = "BASIC " + Data(name + [UInt8(ascii: ":")] + password).base64EncodedString()
  case .bearer(let token): written = "bearer   " + String(decoding: token, as: UTF8.self)
  }
  guard Credentials(authorization: written) == Credentials(authorization: field) else {
    fatalError("\(field) became \(written)")
  }
}

private func text(_ preference: Preference) -> String {
  var text = preference.name.uppercased()
  for parameter in preference.parameters {
    text += " ; \(parameter.name)=\"\(escaped(parameter.value))\""
  }
  let digits = String(preference.quality.thousandths % 1000)
  return text + ";q=\(preference.quality.thousandths / 1000)." + String(repeating: "0", count: 3 - digits.count)
    + digits
}

/// Byte by byte: a backslash before a combining mark is a character of its own.
private func escaped(_ value: String) -> String {
  let bytes = value.utf8.flatMap {
    [UInt8(ascii: "\\"), UInt8(ascii: "\"")].contains($0) ? [UInt8(ascii: "\\"), $0] : [$0]
  }
  return String(decoding: bytes, as: UTF8.self)
}

#if FUZZING
  @_cdecl("LLVMFuzzerTestOneInput")
  public func fuzz(_ start: UnsafeRawPointer?, _ count: Int) -> CInt { checkInput(start, count, check) }
#else
  @main enum Main {
    static func main() throws { try checkFiles(check) }
  }
#endif

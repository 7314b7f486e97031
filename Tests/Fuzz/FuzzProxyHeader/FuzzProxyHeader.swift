import FuzzSupport
import WeirIO
import WeirServer

// These must hold for any input: no trap; the same result however the input is cut, decided by the same octet whatever
// follows; lengths within the bounds; and a header that was accepted names its source, written out again in both
// versions.
private func check(_ input: UnsafeRawBufferPointer) {
  let bytes = Array(input)
  let whole = ProxyHeader.read(bytes.span)
  var decided: ProxyHeader.Reading?
  // Further octets can't matter, and would only take time.
  for count in 0...min(bytes.count, ProxyHeader.longest + 8) {
    let reading = ProxyHeader.read(bytes.span.extracting(0..<count))
    if let decided {
      guard reading == decided else { fatalError("\(count) octets changed \(decided) to \(reading)") }
    } else if reading != .needsMore {
      decided = reading
      checkBounds(reading, count: count, isLine: bytes.first == UInt8(ascii: "P"))
    } else if count >= bound(bytes) {
      fatalError("\(count) octets are not enough")
    }
  }
  guard decided ?? .needsMore == whole else { fatalError("in pieces \(String(describing: decided)), whole \(whole)") }
  if case .header(let length, let source) = whole { checkSource(source, in: bytes, length: length) }
}

private func bound(_ bytes: [UInt8]) -> Int {
  bytes.first == UInt8(ascii: "P") ? ProxyHeader.longestLine : ProxyHeader.longest
}

private func checkBounds(_ reading: ProxyHeader.Reading, count: Int, isLine: Bool) {
  guard case .header(let length, _) = reading else { return }
  // What follows the addresses of version 2 tells nothing.
  guard length == count || !isLine && length > count && count <= 16 + 36 else {
    fatalError("a header of \(length) octets was complete with \(count)")
  }
  guard length <= (isLine ? ProxyHeader.longestLine : ProxyHeader.longest) else { fatalError("\(length) octets") }
}

private func checkSource(_ source: SocketAddress?, in bytes: [UInt8], length: Int) {
  let isLine = bytes[0] == UInt8(ascii: "P")
  let isPassedOn =
    isLine ? bytes[6] == UInt8(ascii: "T") : bytes[12] == 0x21 && (bytes[13] == 0x11 || bytes[13] == 0x21)
  guard isPassedOn == (source != nil) else { fatalError("\(String(describing: source)) is the source") }
  guard let source else { return }
  let written = isLine ? block(source) : line(source)
  guard ProxyHeader.read(written.span) == .header(length: written.count, source: source) else {
    fatalError("\(source) is written as \(written)")
  }
}

private func line(_ source: SocketAddress) -> [UInt8] {
  let family = if case .v4 = source { "TCP4" } else { "TCP6" }
  return Array("PROXY \(family) \(source.host) \(source.host) \(source.port ?? 0) 0\r\n".utf8)
}

private func block(_ source: SocketAddress) -> [UInt8] {
  var bytes = Array("\r\n\r\n\0\r\nQUIT\n".utf8)
  switch source {
  case .v4(let number, let port):
    bytes += [0x21, 0x11, 0, 12] + octets(number) + [0, 0, 0, 0] + octets(port) + [0, 0]
  case .v6(let high, let low, _, let port):
    bytes +=
      [0x21, 0x21, 0, 36] + octets(high) + octets(low) + [UInt8](repeating: 0, count: 16) + octets(port) + [0, 0]
  case .unix, .unnamed: fatalError("\(source) is no address of TCP")
  }
  return bytes
}

private func octets(_ number: some FixedWidthInteger) -> [UInt8] {
  withUnsafeBytes(of: number.bigEndian) { Array($0) }
}

#if FUZZING
  @_cdecl("LLVMFuzzerTestOneInput")
  public func fuzz(_ start: UnsafeRawPointer?, _ count: Int) -> CInt { checkInput(start, count, check) }
#else
  @main enum Main {
    static func main() throws { try checkFiles(check) }
  }
#endif

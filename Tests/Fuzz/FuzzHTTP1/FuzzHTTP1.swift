import FuzzSupport
import WeirHTTP
import WeirHTTP1
import WeirTransport

// The properties of any input: no trap; the same events however the input is cut; consumed bytes and pieces of the body within
// the input; one end, at which the body is as long as Content-Length says; nothing but the end behind the end; no pause but a bounded one.
//
// The first byte chooses the request, the limit and cuts; the rest is what a server sends.
private func check(_ input: UnsafeRawBufferPointer) {
  guard let choice = input.first else { return }
  let bytes = Array(input.dropFirst())
  let whole = Outcome(bytes, choice, cut: { .max })
  let single = Outcome(bytes, choice, cut: { 1 })
  let random = Outcome(bytes, choice, cut: pieceLengths(seed: choice))
  guard whole == single, whole == random else { fatalError("cut differently: \(whole), \(single), \(random)") }
  whole.checkHeads()
}

private func parser(_ choice: UInt8) -> ResponseParser {
  ResponseParser(
    requestIsHead: choice & 1 != 0, allowsSwitch: choice & 4 != 0, maximumHeadSize: choice & 8 != 0 ? 80 : 65_536)
}

private struct Outcome: Equatable {
  var heads: [[UInt8]] = []
  var body: [UInt8] = []
  var defect: ResponseDefect?
  var excess: Int?
  var keepsAlive = false
  var headBytes = 0

  init(_ bytes: [UInt8], _ choice: UInt8, cut: () -> Int) {
    var parser = parser(choice)
    var rest = bytes[...]
    while !rest.isEmpty, defect == nil, excess == nil {
      let piece = Array(rest.prefix(cut()))
      rest = rest.dropFirst(piece.count)
      feed(piece, to: &parser)
    }
    excess = excess.map { $0 + rest.count }
    if defect == nil, excess == nil { endConnection(of: &parser, choice) }
    guard defect == nil else { return }
    (keepsAlive, headBytes) = (parser.keepsAlive, parser.headBytes)
    checkEnd(of: &parser)
    guard headBytes + body.count <= bytes.count else { fatalError("more was counted than there is") }
  }

  private mutating func feed(_ piece: [UInt8], to parser: inout ResponseParser) {
    var position = 0
    while true {
      let (event, consumed): (ResponseParser.Event, Int)
      do throws(ResponseDefect) {
        (event, consumed) = try piece.span.extracting(position..<piece.count).withUnsafeBytes {
          (input) throws(ResponseDefect) in try parser.next(input)
        }
      } catch {
        defect = error
        return
      }
      guard consumed >= 0, consumed <= piece.count - position else { fatalError("\(consumed) bytes at \(position)") }
      switch event {
      case .needsMore:
        guard position + consumed == piece.count else { fatalError("input was left behind") }
        return
      case .interim(let head), .head(let head): heads.append(head.bytes)
      case .body(let range):
        guard range.lowerBound >= 0, !range.isEmpty, range.upperBound <= consumed else { fatalError("body: \(range)") }
        body += piece[position + range.lowerBound..<position + range.upperBound]
      case .end:
        excess = piece.count - position - consumed
        return
      }
      position += consumed
    }
  }

  private mutating func endConnection(of parser: inout ResponseParser, _ choice: UInt8) {
    do throws(ResponseDefect) {
      let end: ResponseParser.ConnectionEnd = choice & 32 != 0 ? .cut : choice & 64 != 0 ? .unknown : .whole
      guard case .end = try parser.connectionEnded(end) else { fatalError("no end at the connection's end") }
      excess = 0
    } catch {
      defect = error
    }
  }

  private func checkEnd(of parser: inout ResponseParser) {
    guard body.isEmpty || parser.isChunked || parser.contentLength.map({ $0 == body.count }) ?? true else {
      fatalError("a body of \(body.count) bytes, not \(parser.contentLength ?? -1)")
    }
    let more = Array("HTTP/1.1 200 OK\r\n\r\n".utf8)
    let next = more.withUnsafeBytes { try? parser.next($0) }
    guard let (event, consumed) = next, case .end = event, consumed == 0 else { fatalError("an end is not the end") }
    guard case .end? = try? parser.connectionEnded(.cut) else { fatalError("an end is not the end") }
  }

  /// A head as it is handed out can be read again, and is the same then.
  func checkHeads() {
    for head in heads {
      var parser = ResponseParser(requestIsHead: true, allowsSwitch: true, maximumHeadSize: 1 << 20)
      let next = head.withUnsafeBytes { try? parser.next($0) }
      switch next?.event {
      case .interim(let again)?, .head(let again)?:
        guard again.bytes == head, next?.consumed == head.count else { fatalError("another head: \(again.bytes)") }
        checkPause(again)
        checkLines(again)
      default: fatalError("a head that can't be read again: \(head)")
      }
    }
  }
}

/// A line that may go on as it is says what would be written in its place.
private func checkLines(_ head: ResponseHead) {
  head.forEachLine { name, value, plain in
    let written = Array(name) + Array(": ".utf8) + Array(value) + Array("\r\n".utf8)
    let isContent = value.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    guard plain.isEmpty || FieldSyntax.isToken(name) && isContent && plain.elementsEqual(written) else {
      fatalError("passed on: \(Array(plain))")
    }
  }
}

private let pace = PaceSettings(obey: Set(PaceSignal.allCases))

private func checkPause(_ head: ResponseHead) {
  guard let seconds = pace.pause(askedBy: head, at: 1_700_000_000) else { return }
  guard seconds > 0, seconds <= 60 else { fatalError("a pause of \(seconds) s") }
}

#if FUZZING
  @_cdecl("LLVMFuzzerTestOneInput")
  public func fuzz(_ start: UnsafeRawPointer?, _ count: Int) -> CInt { checkInput(start, count, check) }
#else
  @main enum Main {
    static func main() throws { try checkFiles(check) }
  }
#endif

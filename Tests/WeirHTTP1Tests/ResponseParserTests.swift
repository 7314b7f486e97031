import Testing
import WeirHTTP

@testable import WeirHTTP1

@Suite struct ResponseParserTests {
  @Test(arguments: statusLineRows) func statusLines(row: Row) { check(row) }
  @Test(arguments: fieldRows) func fields(row: Row) { check(row) }
  @Test(arguments: framingRows) func framing(row: Row) { check(row) }
  @Test(arguments: persistenceRows) func persistence(row: Row) { check(row) }
  @Test(arguments: chunkRows) func chunks(row: Row) { check(row) }
  @Test(arguments: endRows) func ends(row: Row) { check(row) }
  @Test(arguments: limitRows) func limits(row: Row) { check(row) }

  /// The row must read the same however it is cut.
  private func check(_ row: Row) {
    let whole = Reading(row.bytes, row.terms)
    #expect(whole.text == row.expected)
    #expect(Reading(row.bytes, row.terms) { 1 } == whole, "byte by byte")
    #expect(Reading(row.bytes, row.terms) { 7 } == whole, "seven bytes at a time")
    // Long rows repeat themselves, and are read again from the start for each cut.
    let cuts = min(500, max(50, 1_000_000 / max(1, row.bytes.count)))
    let step = max(1, row.bytes.count / cuts)
    for cut in stride(from: 1, to: row.bytes.count, by: step) {
      var isFirst = true
      let reading = Reading(row.bytes, row.terms) {
        defer { isFirst = false }
        return isFirst ? cut : .max
      }
      if reading != whole {
        Issue.record("cut at \(cut): \(reading.text)")
        return
      }
    }
  }

  @Test func tablesAreLarge() {
    let count =
      statusLineRows.count + fieldRows.count + framingRows.count + persistenceRows.count + chunkRows.count
      + endRows.count + limitRows.count
    #expect(count >= 120)
  }

  /// As libcurl's path stores it: raw, but for folds.
  @Test(arguments: [
    ("B: 2\r\na:1\r\nB:  3  \r\nLong: one\r\n two\r\n", "B: 2\r\na:1\r\nB:  3  \r\nLong: one two\r\n"),
    ("A: b \t\r\n \t c\r\n\td\n", "A: b c d\n"), ("A:\r\n b\r\n", "A: b\r\n"), ("A: b\r\n \r\n", "A: b \r\n"),
    ("A: b\r\n \r\n\tc\r\n", "A: b c\r\n"), ("A: b\r\n \n", "A: b \n"), ("A: b\nC: d\n", "A: b\nC: d\n"),
    ("A : b\r\n", "A : b\r\n"), ("A: \u{e9}\t!\r\n", "A: \u{e9}\t!\r\n"),
  ])
  func headsAreRawButForFolds(lines: String, stored: String) {
    let text = "HTTP/1.1 200 Fine, thanks\r\n\(lines)Content-Length: 0\r\n\r\n"
    for size in [1, 5, Int.max] {
      let reading = Reading(Array(text.utf8)) { size }
      let expected = "HTTP/1.1 200 Fine, thanks\r\n\(stored)Content-Length: 0\r\n\r\n"
      #expect(reading.heads.map { String(decoding: $0, as: UTF8.self) } == [expected])
      #expect(reading.headBytes == text.utf8.count)
    }
  }

  /// A tunnel that was made without a request has a head nevertheless, and all that comes is its body.
  @Test func aTunnelIsThereFromTheBeginning() throws {
    var parser = ResponseParser.established
    #expect(parser.hasBegun)
    let text = Array("HTTP/1.1 403 No\r\n\r\n".utf8)
    try text.withUnsafeBytes { bytes in
      guard case .head(let head) = try parser.next(UnsafeRawBufferPointer(rebasing: bytes[..<0])).event,
        case .body(let range) = try parser.next(bytes).event
      else {
        Issue.record("another event")
        return
      }
      #expect(head.status == 200 && range == 0..<bytes.count)
    }
    guard case .end = try parser.connectionEnded(.whole) else {
      Issue.record("no end")
      return
    }
  }

  @Test func interimHeadsAreHandedOut() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    let text = "HTTP/1.1 100 Continue\r\n\r\n" + hints + ok("Content-Length: 0")
    let reading = Reading(Array(text.utf8))
    #expect(reading.interims.map { String(decoding: $0, as: UTF8.self) } == ["HTTP/1.1 100 Continue\r\n\r\n", hints])
    #expect(reading.heads.map { String(decoding: $0, as: UTF8.self) } == [ok("Content-Length: 0")])
    #expect(reading.headBytes == text.utf8.count)
  }

  @Test(arguments: [
    ("X: y\r\n", false, false), ("Connection: keep-alive\r\n", false, false),
    ("connection: Keep-Alive\r\n", false, false), ("Connection: close\r\n", false, true),
    ("Connection: keep-alive, X-A\r\n", false, true), ("Connection:\r\n", false, true), ("A: b\r\n c\r\n", false, true),
    ("Content-Encoding: gzip\r\n", true, false), ("content-ENCODING : br\r\n", true, false),
    ("Content-Encodings: br\r\n", false, false), ("Content-Encoding:\r\n br\r\n", true, true),
  ])
  func factsOfHeads(lines: String, isEncoded: Bool, mayNameFields: Bool) {
    let reading = Reading(Array("HTTP/1.1 200 OK\r\n\(lines)Content-Length: 0\r\n\r\n".utf8))
    #expect(reading.isEncoded == isEncoded)
    #expect(reading.mayNameFields == mayNameFields)
  }

  /// Trailers count, and so does the line that ends them.
  @Test(arguments: [("0\r\n\r\n", 0), ("0\r\nX: y\r\n\r\n", 8)])
  func trailersCountAsHead(body: String, bytes: Int) {
    let reading = Reading(Array(chunked(body).utf8))
    #expect(reading.headBytes == chunked("").utf8.count + bytes)
  }

  @Test func aDefectIsFinal() {
    var parser = Terms().parser
    for input in ["HTTP/1.1 200 OK\r\nX\r\n", "Content-Length: 0\r\n\r\n", ""] {
      #expect(throws: ResponseDefect.malformedHead(.fieldName)) {
        try Array(input.utf8).span.withUnsafeBytes { (input) throws(ResponseDefect) in _ = try parser.next(input) }
      }
    }
    #expect(throws: ResponseDefect.malformedHead(.fieldName)) { _ = try parser.connectionEnded(.whole) }
  }

  @Test func theEndIsRepeated() throws {
    var parser = Terms().parser
    let bytes = Array(ok("Content-Length: 0").utf8)
    _ = try bytes.span.withUnsafeBytes { (input) throws(ResponseDefect) in try parser.next(input) }
    for _ in 0..<2 {
      let (event, consumed) = try bytes.span.withUnsafeBytes { (input) throws(ResponseDefect) in
        try parser.next(input)
      }
      let isEnd = if case .end = event { true } else { false }
      let isEndStill = if case .end = try parser.connectionEnded(.cut) { true } else { false }
      #expect(isEnd && isEndStill && consumed == 0)
    }
  }

  @Test func factsBeforeAndAfterTheHead() throws {
    var parser = Terms().parser
    #expect(!parser.hasBegun && parser.version == nil && parser.status == 0 && !parser.keepsAlive)
    let bytes = Array(ok("Content-Length: 7").utf8)
    _ = try bytes.span.withUnsafeBytes { (input) throws(ResponseDefect) in try parser.next(input) }
    #expect(parser.hasBegun && parser.version == .http1_1 && parser.status == 200 && parser.keepsAlive)
    #expect(parser.contentLength == 7 && !parser.isChunked)
  }
}

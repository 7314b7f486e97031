import Testing
import WeirCompression
import WeirHTTP

@testable import WeirGateway

/// What becomes of the fields of a body whose coding changes.
@Suite struct RecodedFieldsTests {
  private func fields(_ head: String, _ treatment: ResponseTreatment) -> [String] {
    let head = ResponseHead(status: 200, bytes: Array("HTTP/1.1 200 OK\r\n\(head)\r\n\r\n".utf8))
    var lines: [String] = []
    RecodedResponse(head: head, treatment: treatment).forEach {
      lines.append("\(FieldSyntax.text($0)): \(FieldSyntax.text($1))")
    }
    return lines
  }

  private static let gzip = ResponseTreatment(work: .gzip, varies: true)

  @Test(
    arguments: [
      ("ETag: \"a\"", ["ETag: W/\"a\""]), ("etag: W/\"a\"", ["etag: W/\"a\""]), ("ETag: a", []),
      ("Accept-Ranges: bytes", []), ("Content-Encoding: identity", []), ("Content-MD5: x\r\nDigest: y", []),
      ("Content-Digest: x\r\nRepr-Digest: y", []), ("X-A: b", ["X-A: b"]),
    ])
  func compressed(head: String, expected: [String]) {
    #expect(fields(head, Self.gzip) == expected + ["Content-Encoding: gzip", "Vary: Accept-Encoding"])
    #expect(
      fields(head, ResponseTreatment(work: .decode([.gzip]), varies: true)) == expected + ["Vary: Accept-Encoding"])
  }

  @Test(
    arguments: [
      ("Vary: Origin", true), ("Vary: Origin, accept-ENCODING", false), ("Vary: *", false), ("Vary:", true),
      ("Vary: Accept-Encodings", true), ("Vary: Origin\r\nVary: Accept-Encoding", false),
    ])
  func variesOnce(head: String, isAdded: Bool) {
    let lines = fields(head, ResponseTreatment(work: .none, varies: true))
    #expect((lines.last == "Vary: Accept-Encoding" && lines.count > head.split(separator: "\r\n").count) == isAdded)
    #expect(fields(head, ResponseTreatment()).count == head.split(separator: "\r\n").count)
  }

  @Test func unchangedBodiesKeepTheirFields() {
    let head = "ETag: \"a\"\r\nAccept-Ranges: bytes\r\nContent-Encoding: br\r\nContent-MD5: x"
    #expect(fields(head, ResponseTreatment()).joined(separator: "\r\n") == head)
  }

  @Test func requestsLoseWhatSpeaksOfTheCoding() {
    let head = ResponseHead(
      status: 200,
      bytes: Array(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent_Encoding: gzip\r\nDigest: x\r\nContent-Type: a/b\r\n\r\n"
          .utf8))
    var names: [String] = []
    DecodedRequest(head: head).forEach { name, _ in names.append(FieldSyntax.text(name)) }
    #expect(names == ["Content-Type"])
  }
}

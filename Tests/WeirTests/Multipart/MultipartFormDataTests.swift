import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§15 Multipart: the bytes")
struct MultipartFormDataTests {
  @Test("A boundary is 64 random bits as hex digits")
  func boundary() {
    let boundaries = Set((0..<100).map { _ in MultipartFormData().boundary })
    #expect(boundaries.count == 100)
    for boundary in boundaries {
      #expect(boundary.wholeMatch(of: /weir\.boundary\.[0-9a-f]{16}/) != nil, "\(boundary)")
    }
    let form = MultipartFormData(boundary: "mine")
    #expect(form.boundary == "mine")
  }

  @Test(
    "The content type names the boundary, in quotes where it needs them; it may be set",
    arguments: [
      ("B", "B"), ("weir.boundary.00", "weir.boundary.00"), ("a b", "\"a b\""), ("a\"b\\c", #""a\"b\\c""#),
      ("a/b=:?", "\"a/b=:?\""),
    ])
  func contentType(boundary: String, parameter: String) {
    let form = MultipartFormData(boundary: boundary)
    #expect(form.contentType == "multipart/form-data; boundary=\(parameter)")
    form.contentType = "multipart/mixed; boundary=B"
    #expect(form.contentType == "multipart/mixed; boundary=B")
  }

  @Test func theMemoryThreshold() {
    #expect(MultipartFormData.encodingMemoryThreshold == 10_000_000)
  }

  @Test("No parts: no bytes")
  func noParts() throws {
    #expect(try MultipartSamples.form().encode().isEmpty)
    #expect(MultipartSamples.form().contentLength == 0)
    let directory = try TemporaryDirectory()
    let target = MultipartSamples.url("\(directory.path)/f")
    try MultipartSamples.form().writeEncodedData(to: target)
    #expect(try Data(contentsOf: target).isEmpty)
  }

  @Test("One part of each kind, byte for byte")
  func kinds() throws {
    let directory = try TemporaryDirectory()
    let file = MultipartSamples.url(try directory.file("a.json", "{}"))
    let form = MultipartSamples.form()
    form.append(Data("1".utf8), withName: "plain")
    form.append(Data("2".utf8), withName: "typed", mimeType: "text/x")
    form.append(Data("3".utf8), withName: "named", fileName: "f.bin")
    form.append(Data("4".utf8), withName: "both", fileName: "g", mimeType: "a/b")
    form.append(file, withName: "file")
    form.append(file, withName: "renamed", fileName: "x", mimeType: "y/z")
    form.append(InputStream(data: Data("567".utf8)), withLength: 3, name: "s", fileName: "t", mimeType: "u/v")
    form.append(
      InputStream(data: Data("8".utf8)), withLength: 1, headers: ["X-B": "2", "x-a": "1", "Content-Type": "c"])
    form.append(Data(), withName: "")
    let expected = """
      --B
      Content-Disposition: form-data; name="plain"

      1
      --B
      Content-Disposition: form-data; name="typed"
      Content-Type: text/x

      2
      --B
      Content-Disposition: form-data; name="named"; filename="f.bin"

      3
      --B
      Content-Disposition: form-data; name="both"; filename="g"
      Content-Type: a/b

      4
      --B
      Content-Disposition: form-data; name="file"; filename="a.json"
      Content-Type: application/json

      {}
      --B
      Content-Disposition: form-data; name="renamed"; filename="x"
      Content-Type: y/z

      {}
      --B
      Content-Disposition: form-data; name="s"; filename="t"
      Content-Type: u/v

      567
      --B
      X-B: 2
      x-a: 1
      Content-Type: c

      8
      --B
      Content-Disposition: form-data; name=""


      --B--

      """
    #expect(try MultipartSamples.text(form) == expected.replacingOccurrences(of: "\n", with: "\r\n"))
    #expect(form.contentLength == 1 + 1 + 1 + 1 + 2 + 2 + 3 + 1 + 0)
  }

  @Test("Header fields of the caller keep their order")
  func headers() throws {
    let form = MultipartSamples.form()
    let headers = HTTPHeaders([HTTPHeader(name: "B", value: "2"), HTTPHeader(name: "A", value: "1")])
    form.append(InputStream(data: Data()), withLength: 0, headers: headers)
    #expect(try MultipartSamples.text(form) == "--B\r\nB: 2\r\nA: 1\r\n\r\n\r\n--B--\r\n")
  }

  @Test(
    "Names stay in their quotes and on their line",
    arguments: [
      ("a", "a"), ("a\"b", "a%22b"), ("a\rb\nc", "a%0Db%0Ac"), ("\r\n", "%0D%0A"), ("\r\n\r\nX: 1", "%0D%0A%0D%0AX: 1"),
      ("a\0b", "a%00b"), ("a\\b;c='d'", "a\\b;c='d'"), ("日本 é", "日本 é"), ("\"; filename=\"x", "%22; filename=%22x"),
      ("e\u{301}\r\n\u{301}", "e\u{301}%0D%0A\u{301}"), ("%22", "%22"), ("\u{85}\u{2028}", "\u{85}\u{2028}"),
    ])
  func escaping(name: String, escaped: String) throws {
    let form = MultipartSamples.form()
    form.append(Data(), withName: name, fileName: name)
    let head = "Content-Disposition: form-data; name=\"\(escaped)\"; filename=\"\(escaped)\""
    #expect(try form.encode() == Data("--B\r\n\(head)\r\n\r\n\r\n--B--\r\n".utf8))
  }

  @Test("What would break out of a header field fails", arguments: ["a\r\nX: 1", "a\nb", "\r", "a\0"])
  func injection(value: String) throws {
    let forms: [(MultipartFormData) -> Void] = [
      { $0.append(Data(), withName: "n", mimeType: value) },
      { $0.append(InputStream(data: Data()), withLength: 0, headers: ["A": value]) },
      { $0.append(InputStream(data: Data()), withLength: 0, headers: [value: "a"]) },
      { $0.append(InputStream(data: Data()), withLength: 0, name: "n", fileName: "f", mimeType: value) },
    ]
    for fill in forms {
      let form = MultipartSamples.form()
      fill(form)
      let error = #expect(throws: WeirError.self) { try form.encode() }
      #expect(error?.label == "invalid_header_field")
    }
    for boundary in [value, ""] {
      let form = MultipartFormData(boundary: boundary)
      form.append(Data(), withName: "n")
      #expect(throws: WeirError.self) { try form.encode() }
    }
  }

  @Test(
    "The type of a file follows from its name",
    arguments: [
      ("a.html", "text/html"), ("a.css", "text/css"), ("a.js", "text/javascript"), ("a.json", "application/json"),
      ("a.xml", "application/xml"), ("a.txt", "text/plain"), ("a.csv", "text/csv"), ("a.png", "image/png"),
      ("a.jpg", "image/jpeg"), ("a.jpeg", "image/jpeg"), ("a.gif", "image/gif"), ("a.webp", "image/webp"),
      ("a.svg", "image/svg+xml"), ("a.pdf", "application/pdf"), ("a.zip", "application/zip"),
      ("a.gz", "application/gzip"), ("a.mp3", "audio/mpeg"), ("a.mp4", "video/mp4"), ("a.mpeg", "video/mpeg"),
      ("a.PNG", "image/png"), ("a.tar.gz", "application/gzip"), ("a.unknown", "application/octet-stream"),
      ("ä ö.txt", "text/plain"),
    ])
  func fileTypes(name: String, type: String) throws {
    let directory = try TemporaryDirectory()
    let form = MultipartSamples.form()
    form.append(MultipartSamples.url(try directory.file(name, "x")), withName: "n")
    let head = "Content-Disposition: form-data; name=\"n\"; filename=\"\(name)\"\r\nContent-Type: \(type)"
    #expect(try MultipartSamples.text(form) == "--B\r\n\(head)\r\n\r\nx\r\n--B--\r\n")
  }

  @Test("To memory and to a file the bytes are the same, and the same again")
  func twoWays() throws {
    let directory = try TemporaryDirectory()
    let large = MultipartSamples.url("\(directory.path)/large.bin")
    let bytes = MultipartSamples.noise(1_000_003, seed: 1)
    try bytes.write(to: large)
    let form = MultipartSamples.form()
    form.append(bytes, withName: "data")
    form.append(large, withName: "file")
    form.append(bytes.dropFirst(500), withName: "slice")
    let first = try form.encode()
    let head = "--B\r\nContent-Disposition: form-data; name=\"data\"\r\n\r\n"
    #expect(first.prefix(head.utf8.count) == Data(head.utf8))
    #expect(first[head.utf8.count..<head.utf8.count + bytes.count] == bytes)
    #expect(first.count > 3 * bytes.count - 500)
    for name in ["1", "2"] {
      let target = MultipartSamples.url("\(directory.path)/\(name)")
      try form.writeEncodedData(to: target)
      #expect(try Data(contentsOf: target) == first)
    }
    #expect(try form.encode() == first)
  }

  @Test("It may be filled and encoded by several threads")
  func threads() async throws {
    let form = MultipartSamples.form()
    let stream = InputStream(data: Data("stream".utf8))
    form.append(stream, withLength: 6, headers: [:])
    let successes = await withTaskGroup(of: Int.self) { group in
      for number in 0..<8 {
        group.addTask {
          form.append(Data([UInt8(number)]), withName: "n")
          return (try? form.encode()) == nil ? 0 : 1
        }
      }
      return await group.reduce(0, +)
    }
    #expect(form.contentLength == 14)
    // A stream is read by one of them.
    #expect(successes == 1)
  }

  @Test("The first error is kept, whatever follows")
  func firstError() throws {
    let reason = try MultipartSamples.reason {
      let form = MultipartSamples.form()
      form.append(try #require(URL(string: "http://h/a.txt")), withName: "1")
      form.append(MultipartSamples.url("/nowhere/a.txt"), withName: "2")
      form.append(Data("x".utf8), withName: "3")
      #expect(form.contentLength == 1)
      return form
    }
    guard case .bodyPartURLInvalid(let url)? = reason else {
      Issue.record("\(String(describing: reason))")
      return
    }
    #expect(url.absoluteString == "http://h/a.txt")
  }

  @Test("Ten thousand parts")
  func manyParts() throws {
    let form = MultipartSamples.form()
    for number in 0..<10_000 { form.append(Data("\(number)".utf8), withName: "n\(number)") }
    let text = try MultipartSamples.text(form)
    #expect(text.components(separatedBy: "--B\r\n").count == 10_001)
    #expect(text.hasSuffix("\r\n\r\n9999\r\n--B--\r\n"))
  }
}

import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir

/// What others read in what we write.
@Suite("§15 Multipart: read back", .timeLimit(.minutes(5)))
struct MultipartParserTests {
  /// A part as a parser finds it.
  struct Found: Equatable {
    var head: [String]
    var body: [UInt8]
  }

  /// By RFC 2046 section 5.1.1, with nothing of what made it: nil for anything but a whole body.
  static func parse(_ body: Data, boundary: String) -> [Found]? {
    let (lineBreak, emptyLine) = (Data("\r\n".utf8), Data("\r\n\r\n".utf8))
    let delimiter = lineBreak + Data("--\(boundary)".utf8)
    // The first has its line break before the body.
    let bytes = lineBreak + body
    guard bytes.starts(with: delimiter) else { return nil }
    var position = delimiter.count
    var parts: [Found] = []
    while bytes[position...].starts(with: lineBreak) {
      guard let end = bytes.range(of: emptyLine, in: position..<bytes.count),
        let next = bytes.range(of: delimiter, in: end.upperBound..<bytes.count)
      else { return nil }
      let head = String(decoding: bytes[(position + 2)..<end.lowerBound], as: UTF8.self)
      parts.append(
        Found(
          head: head.components(separatedBy: "\r\n"), body: Array(bytes[end.upperBound..<next.lowerBound])))
      position = next.upperBound
    }
    return bytes[position...] == Data("--\r\n".utf8) ? parts : nil
  }

  @Test("Random forms, from seeds", arguments: 0..<40)
  func random(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let directory = try TemporaryDirectory()
    let form = MultipartFormData()
    var expected: [Found] = []
    for number in 0..<Int.random(in: 1...12, using: &random) {
      let body = Self.body(boundary: form.boundary, &random)
      let (name, fileName, type) = (Self.text(&random), Self.text(&random), "a/b")
      let disposition = "Content-Disposition: form-data; name=\"\(Self.escaped(name))\""
      let full = [disposition + "; filename=\"\(Self.escaped(fileName))\"", "Content-Type: a/b"]
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        form.append(Data(body), withName: name)
        expected.append(Found(head: [disposition], body: body))
      case 1:
        form.append(Data(body), withName: name, fileName: fileName, mimeType: type)
        expected.append(Found(head: full, body: body))
      case 2:
        let file = MultipartSamples.url("\(directory.path)/\(number)")
        try Data(body).write(to: file)
        form.append(file, withName: name, fileName: fileName, mimeType: type)
        expected.append(Found(head: full, body: body))
      default:
        let length = UInt64(body.count)
        form.append(InputStream(data: Data(body)), withLength: length, name: name, fileName: fileName, mimeType: type)
        expected.append(Found(head: full, body: body))
      }
    }
    #expect(form.contentLength == UInt64(expected.reduce(0) { $0 + $1.body.count }))
    let encoded: Data
    if Bool.random(using: &random) {
      encoded = try form.encode()
    } else {
      let target = MultipartSamples.url("\(directory.path)/target")
      try form.writeEncodedData(to: target)
      encoded = try Data(contentsOf: target)
    }
    let found = Self.parse(encoded, boundary: form.boundary)
    #expect(found == expected)
  }

  /// Bytes that look like what stands around them.
  private static func body(boundary: String, _ random: inout SeededRandom) -> [UInt8] {
    let sizes = [0, 1, 2, 100, 4_096, 131_071, 131_072, 131_073, 300_000]
    let size = sizes.randomElement(using: &random) ?? 0
    let bait = Array("\r\n--weir.boundary.\r\n--\r\n\r\n--\(boundary.dropLast())\r\n".utf8)
    var body: [UInt8] = []
    while body.count < size {
      if Bool.random(using: &random) { body += bait }
      body += MultipartSamples.noise(Int.random(in: 1...5_000, using: &random), seed: random.next())
    }
    return Array(body.prefix(size))
  }

  private static func text(_ random: inout SeededRandom) -> String {
    let characters: [Character] = ["a", "\"", "\r", "\n", "\r\n", "\0", "é", "日", ";", "=", " ", "\\", "%", "-", ":"]
    return String(
      (0..<Int.random(in: 0...20, using: &random)).map { _ in characters.randomElement(using: &random) ?? "x" })
  }

  private static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { escaped, scalar in
      escaped += ["\"": "%22", "\r": "%0D", "\n": "%0A", "\0": "%00"][String(scalar)] ?? String(scalar)
    }
  }

  /// Prints each part as a line: name, file name, type, size and hash.
  private static let script = """
    import email, hashlib, sys
    body = open(sys.argv[1], 'rb').read()
    message = email.message_from_bytes(b'Content-Type: ' + sys.argv[2].encode() + b'\\r\\n\\r\\n' + body)
    assert message.is_multipart() and not message.defects, message.defects
    for part in message.get_payload():
        assert not part.defects, part.defects
        payload = part.get_payload(decode=True)
        get = lambda name: part.get_param(name, header='content-disposition')
        print(get('name'), get('filename'), part.get('Content-Type'), len(payload), hashlib.sha256(payload).hexdigest())
    """

  @Test("Python's own parser", .enabled(if: Tool.python.isInstalled))
  func python() async throws {
    let directory = try TemporaryDirectory()
    let large = MultipartSamples.url("\(directory.path)/large.bin")
    let bytes = MultipartSamples.noise(3_000_000, seed: 7)
    try bytes.write(to: large)
    let form = MultipartFormData()
    form.append(Data("hello\r\n--".utf8), withName: "text")
    form.append(Data(), withName: "empty", fileName: "e", mimeType: "text/plain")
    form.append(large, withName: "large")
    form.append(InputStream(data: bytes), withLength: 3_000_000, name: "q\"\r\n", fileName: "s\"", mimeType: "a/b")
    let target = MultipartSamples.url("\(directory.path)/target")
    try form.writeEncodedData(to: target)
    let output = try await Tool.python.run(["-c", Self.script, target.path, form.contentType])
    let lines = output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    #expect(
      lines.map { $0.dropLast().joined(separator: " ") } == [
        "text None None 9", "empty e text/plain 0", "large large.bin application/octet-stream 3000000",
        "q%22%0D%0A s%22 a/b 3000000",
      ], "\(output)")
    let sum = String(try await Tool(named: "sha256sum").run([large.path]).prefix(64))
    #expect(lines.suffix(2).allSatisfy { $0.last == sum })
  }

  @Test(
    "Boundaries of one's own that need quotes", .enabled(if: Tool.python.isInstalled),
    arguments: [
      "a b", "simple", "a'()+_,-./:=?b",
    ])
  func quotedBoundaries(boundary: String) async throws {
    let directory = try TemporaryDirectory()
    let form = MultipartFormData(boundary: boundary)
    form.append(Data("x".utf8), withName: "n")
    let target = MultipartSamples.url("\(directory.path)/target")
    try form.writeEncodedData(to: target)
    let output = try await Tool.python.run(["-c", Self.script, target.path, form.contentType])
    #expect(output.hasPrefix("n None None 1 "))
  }
}

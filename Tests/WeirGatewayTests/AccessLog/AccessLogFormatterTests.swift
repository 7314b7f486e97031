import Foundation
import Testing
import WeirHTTP

@testable import WeirGateway

@Suite struct AccessLogFormatterTests {
  /// 2026-03-01T12:00:00.250Z
  static let noon: Int64 = 1_772_366_400_250

  /// A request in the words of a test.
  struct Line {
    var client = Array("192.0.2.7".utf8)
    var method = Array("GET".utf8)
    var host = Array("h".utf8)
    var path = Array("/a".utf8)
    var query: [UInt8]?
    var status = 200
    var fields: [(name: String, value: [UInt8])] = []
    var change: (inout AccessFacts) -> Void = { _ in }

    /// The line with its end.
    func bytes(_ settings: AccessLogSettings) -> [UInt8] {
      var facts = AccessFacts(
        milliseconds: AccessLogFormatterTests.noon, status: status, outcome: "success", seconds: 0.0123456)
      change(&facts)
      var formatter = AccessLogFormatter(settings)
      var bytes: [UInt8] = []
      client.withUnsafeBytes { client in
        method.withUnsafeBytes { method in
          host.withUnsafeBytes { host in
            path.withUnsafeBytes { path in
              (query ?? []).withUnsafeBytes { query in
                (facts.client, facts.method, facts.host, facts.path) = (client, method, host, path)
                facts.query = self.query == nil ? nil : query
                formatter.append(facts, values: values, to: &bytes)
              }
            }
          }
        }
      }
      return bytes
    }

    func text(_ settings: AccessLogSettings) -> String { String(decoding: bytes(settings), as: UTF8.self) }

    func json(_ settings: AccessLogSettings = AccessLogSettings(to: .standardOutput)) throws -> [String: Any] {
      try #require(try JSONSerialization.jsonObject(with: Data(bytes(settings))) as? [String: Any])
    }

    private func values(_ name: String, _ body: (UnsafeRawBufferPointer) -> Void) {
      for field in fields where field.name.lowercased() == name.lowercased() { field.value.withUnsafeBytes(body) }
    }
  }

  private static func settings(
    _ format: AccessLogSettings.Format, _ fields: AccessLogSettings.Field...
  ) -> AccessLogSettings {
    var settings = AccessLogSettings(to: .standardOutput)
    settings.format = format
    settings.fields = fields
    return settings
  }

  @Test(
    arguments: [
      ("", nil, "-"), ("alice", "alice", "alice"), ("a b", "a b", "a\\x20b"), (" ", " ", "\\x20"),
      ("\u{e9}\"", "\\xC3\\xA9\"", "\\xC3\\xA9\\x22"),
    ] as [(String, String?, String)])
  func users(name: String, json: String?, combined: String) throws {
    let line = Line(change: { $0.user = Array(name.utf8) })
    #expect(try line.json()["user"] as? String == json)
    #expect(line.text(Self.settings(.combined)).hasPrefix("192.0.2.7 - \(combined) [01/Mar/2026:"))
  }

  /// The octets that a written value stands for.
  static func octets(of value: String) -> [UInt8] {
    var octets: [UInt8] = []
    var rest = Array(value.utf8)[...]
    while let octet = rest.popFirst() {
      guard octet == .backslash else {
        octets.append(octet)
        continue
      }
      #expect(rest.popFirst() == UInt8(ascii: "x"))
      octets.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
      rest = rest.dropFirst(2)
    }
    return octets
  }

  @Test func aLineOfJSON() {
    var line = Line()
    line.change = {
      $0.listener = AccessNames.member("listener", "gateway")
      $0.route = AccessNames.member("route", "Zahlung \"ü\"")
      $0.upstream = AccessNames.member("upstream", "api.example.com")
      $0.endpoint = "10.0.0.7:80"
      ($0.bytesIn, $0.bytesOut, $0.upstreamSeconds, $0.attempts) = (3, 12_345, 0.01, 2)
      ($0.error, $0.tls) = ("timedOut", "1.3")
      ($0.traceID, $0.requestID) = (Array("4bf9".utf8), Array("r-1".utf8))
    }
    #expect(
      line.text(Self.settings(.json)) == """
        {"time":"2026-03-01T12:00:00.250Z","listener":"gateway","route":"Zahlung \\"ü\\"","upstream":"api.example.com",\
        "endpoint":"10.0.0.7:80","client":"192.0.2.7","method":"GET","host":"h","path":"/a","protocol":"HTTP/1.1",\
        "status":200,"outcome":"success","bytes_in":3,"bytes_out":12345,"seconds":0.012345,"upstream_seconds":0.010000,\
        "attempts":2,"error":"timedOut","trace_id":"4bf9","request_id":"r-1","tls":"1.3"}

        """)
  }

  @Test func whatIsNotThereIsLeftOut() throws {
    var line = Line(client: [], method: [], host: [], path: [], status: 0)
    line.change = { ($0.seconds, $0.outcome) = (-1, "refused") }
    #expect(
      line.text(Self.settings(.json))
        == "{\"time\":\"2026-03-01T12:00:00.250Z\",\"outcome\":\"refused\",\"bytes_in\":0,\"bytes_out\":0,\"seconds\":0.000000}\n"
    )
    #expect(line.text(Self.settings(.combined)) == "- - - [01/Mar/2026:12:00:00 +0000] \"-\" - - \"-\" \"-\"\n")
  }

  @Test func aLineAsApacheWritesIt() {
    var line = Line(
      query: Array("a=1".utf8), status: 404,
      fields: [("User-Agent", Array("curl/8 \"x\"".utf8)), ("Referer", Array("https://h/?a".utf8))])
    line.change = { $0.bytesOut = 17 }
    let start = "192.0.2.7 - - [01/Mar/2026:12:00:00 +0000] "
    #expect(line.text(Self.settings(.combined)) == start + "\"GET /a HTTP/1.1\" 404 17 \"-\" \"-\"\n")
    #expect(
      line.text(Self.settings(.combined, .query, .referer, .userAgent)) == start
        + "\"GET /a?a=1 HTTP/1.1\" 404 17 \"https://h/?a\" \"curl/8 \\x22x\\x22\"\n")
  }

  @Test func queriesAndFieldsAreLoggedOnDemandOnly() throws {
    let secret = Array("s3cr3t".utf8)
    let line = Line(
      query: secret,
      fields: [
        ("User-Agent", secret), ("Referer", secret), ("X-Tenant", Array("a".utf8)), ("x-tenant", Array("b".utf8)),
      ])
    #expect(!line.text(Self.settings(.json)).contains("s3cr3t"))
    #expect(!line.text(Self.settings(.combined)).contains("s3cr3t"))
    let all = try line.json(Self.settings(.json, .query, .userAgent, .referer, .header("X-Tenant"), .header("X-No")))
    for key in ["query", "user_agent", "referer"] { #expect(all[key] as? String == "s3cr3t") }
    #expect(all["header_x_tenant"] as? String == "a, b")
    #expect(all["header_x_no"] == nil)
  }

  /// Whatever the octets: the line is one line, JSON's reader reads it, and the escapes give the octets back.
  @Test func hostileOctets() throws {
    let all = (0...255).map { UInt8($0) }
    let hostile: [[UInt8]] =
      all.map { [$0] } + [
        all, Array("\\x41".utf8), Array("\\".utf8), Array("\\\\x".utf8), Array("\",\"status\":200}".utf8),
        Array("\r\nHTTP".utf8), Array("\u{2028}\u{202e}ü".utf8), [0xc3], [0xed, 0xa0, 0x80], Array("\u{1b}[31m".utf8),
      ]
    for octets in hostile {
      let line = Line(
        client: octets, host: octets, path: octets, query: octets, fields: [("User-Agent", octets), ("X-A", octets)])
      let bytes = line.bytes(Self.settings(.json, .query, .userAgent, .header("X-A")))
      #expect(bytes.dropLast().allSatisfy { (0x20..<0x7f).contains($0) })
      let json = try line.json(Self.settings(.json, .query, .userAgent, .header("X-A")))
      for key in ["host", "path", "query", "user_agent", "header_x_a"] {
        let value = try #require(json[key] as? String)
        #expect(Self.octets(of: value) == octets, "\(key)")
      }
      let plain = Line(path: octets, fields: [("User-Agent", octets)]).bytes(Self.settings(.combined, .userAgent))
      #expect(plain.dropLast().allSatisfy { (0x20..<0x7f).contains($0) })
      // Method and status are between the second and the third quotation mark at their places.
      #expect(plain.count { $0 == .quotationMark } == 6)
    }
  }

  @Test func longValuesAreCut() throws {
    let plain = [UInt8](repeating: UInt8(ascii: "a"), count: 5000)
    let odd = [UInt8](repeating: 0xff, count: 5000)
    let quotes = [UInt8](repeating: .quotationMark, count: 5000)
    for octets in [plain, odd, quotes] {
      let line = Line(path: octets, query: octets, fields: [("X-A", octets), ("X-A", octets)])
      let bytes = line.bytes(Self.settings(.json, .query, .header("X-A")))
      #expect(bytes.count < 3 * 2048 + 500)
      let json = try line.json(Self.settings(.json, .query, .header("X-A")))
      #expect(Self.octets(of: try #require(json["path"] as? String)).allSatisfy { $0 == octets[0] })
      #expect(line.bytes(Self.settings(.combined, .query)).count < 2 * 2048 + 200)
    }
    #expect(try Line(path: plain).json()["path"] as? String == String(repeating: "a", count: 2048))
  }

  @Test func numbers() {
    let numbers: [Int64] = [0, 9, 10, 99, 100, 1_000_000, 999_999_999_999_999_999, 1_000_000_000_000_000_000, .max]
    var text: [UInt8] = []
    AccessLine.append(to: &text, room: 200) { line in
      for number in numbers {
        line.put(number: number)
        line.put(.space)
      }
      for (number, digits) in [(7, 3), (1234, 3), (0, 6)] as [(Int64, Int)] { line.put(number: number, digits: digits) }
    }
    #expect(String(decoding: text, as: UTF8.self) == numbers.map { "\($0) " }.joined() + "007234000000")
  }

  /// Pieces that find no room are left out, whatever they are, and none is written beyond it.
  @Test(arguments: 0...40) func nothingIsWrittenBeyondTheRoom(room: Int) {
    var text = Array("before".utf8)
    let value: [UInt8] = [0xFF, 0x22, 0x61, 0x5C]
    AccessLine.append(to: &text, room: room) { line in
      value.withUnsafeBytes { line.put(value: $0, isJSON: true) }
      line.put(number: 12)
      line.put(number: 3, digits: 9)
      line.put("text")
      line.put(value)
      line.put(seconds: 1.5)
    }
    #expect(text.starts(with: Array("before".utf8)) && text.count <= 6 + room)
  }

  @Test func timesBeforeAndAfter1970() {
    var time = AccessTime(.json)
    var apache = AccessTime(.combined)
    var text: [UInt8] = []
    AccessLine.append(to: &text, room: 200) { line in
      for milliseconds in [-1, 0, 951_825_599_999, 951_825_600_000] as [Int64] {
        time.put(milliseconds: milliseconds, into: &line)
        line.put(.space)
      }
      apache.put(milliseconds: -1, into: &line)
    }
    #expect(
      String(decoding: text, as: UTF8.self)
        == "1969-12-31T23:59:59.999Z 1970-01-01T00:00:00.000Z 2000-02-29T11:59:59.999Z "
        + "2000-02-29T12:00:00.000Z 31/Dec/1969:23:59:59 +0000")
  }
}

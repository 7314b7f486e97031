import Foundation
import Testing
import WeirTestSupport

@testable import WeirGateway

/// Another program reads the lines of the format `combined`.
@Suite struct ApacheLogsTests {
  private static let python = Tool("apachelogs", at: ["\(PackageRoot.path)/.build/test-venv/bin/python"])
  private typealias Line = AccessLogFormatterTests.Line

  @Test(.enabled(if: python.isInstalled, Comment(rawValue: python.isMissing)))
  func apachelogsReadsWhatWasThere() async throws {
    let hostile: [[UInt8]] = [
      Array("/a".utf8), Array("/\"quoted\\path".utf8), Array("/\\x41".utf8), [0x2f] + (0x21...0x7e).map { UInt8($0) },
    ]
    let agents: [[UInt8]] = [
      Array("curl/8".utf8), Array("\"; DROP \\".utf8), Array("a\tb\r\nc".utf8), (1...255).map { UInt8($0) },
    ]
    var settings = AccessLogSettings(to: .standardOutput)
    settings.format = .combined
    settings.fields = [.query, .referer, .userAgent]
    var lines = zip(hostile, agents).map { path, agent in
      var line = Line(path: path, query: Array("q=\"1\"".utf8), status: 404)
      line.fields = [("User-Agent", agent), ("Referer", agent)]
      line.change = { $0.bytesOut = 17 }
      return line
    }
    lines.append(Line(client: [], method: [], host: [], path: [], status: 0))
    let directory = try TemporaryDirectory()
    let file = try directory.file("log", lines.map { $0.text(settings) }.joined())
    let output = try await Self.python.run(["\(PackageRoot.path)/Tests/Peers/combined.py", file])
    let read = try output.split(separator: "\n").map { line in
      try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [Any?])
    }
    #expect(read.count == lines.count)
    for (entry, (path, agent)) in zip(read, zip(hostile, agents)) {
      // Octets come as the characters of ISO 8859-1 with their numbers.
      func text(_ octets: [UInt8]) -> String { String(String.UnicodeScalarView(octets.map { Unicode.Scalar($0) })) }
      #expect(entry[0] as? String == "192.0.2.7")
      #expect(entry[1] as? String == "2026-03-01T12:00:00+00:00")
      #expect(entry[2] as? String == "GET \(text(path))?q=\"1\" HTTP/1.1")
      #expect(entry[3] as? Int == 404 && entry[4] as? Int == 17)
      #expect(entry[5] as? String == text(agent) && entry[6] as? String == text(agent))
    }
    #expect(read.last?[0] as? String == "-" && read.last?[2] is NSNull && read.last?[3] is NSNull)
  }
}

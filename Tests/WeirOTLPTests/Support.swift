import Foundation
import Testing
import WeirOTLP
import WeirTestSupport

/// Another program's reading of a message in both encodings.
enum OtherReader {
  private static let tool = Tool("opentelemetry-proto", at: ["\(PackageRoot.path)/.build/test-venv/bin/python"])

  static let isInstalled = tool.isInstalled
  static let isMissing = Comment(rawValue: tool.isMissing)

  /// The message as JSON, read from protobuf and from JSON.
  static func lines(
    _ signal: String, _ encoded: (MessageEncoding) -> [UInt8]
  ) async throws -> (protobuf: String, json: String) {
    let directory = try TemporaryDirectory()
    let files = try MessageEncoding.allCases.map { encoding in
      let path = "\(directory.path)/\(encoding)"
      try Data(encoded(encoding)).write(to: URL(fileURLWithPath: path))
      return path
    }
    let output = try await tool.run(["\(PackageRoot.path)/Tests/Peers/otlp.py", signal] + files)
    let lines = output.split(separator: "\n").map(String.init)
    try #require(lines.count == 2, "\(output)")
    return (lines[0], lines[1])
  }

  /// The same JSON with sorted members and without blanks between them.
  static func sorted(_ json: String) throws -> String {
    let value = try JSONSerialization.jsonObject(with: Data(json.utf8))
    return String(decoding: try JSONSerialization.data(withJSONObject: value, options: .sortedKeys), as: UTF8.self)
  }
}

/// The octets that a text of hexadecimal digits and blanks stands for.
func octets(_ digits: String) -> [UInt8] {
  digits.split(whereSeparator: \.isWhitespace).flatMap { word -> [UInt8] in
    stride(from: 0, to: word.count, by: 2).compactMap { UInt8(word.dropFirst($0).prefix(2), radix: 16) }
  }
}

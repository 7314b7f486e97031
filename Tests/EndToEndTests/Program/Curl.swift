import WeirTestSupport

/// What curl got.
struct CurlAnswer: Sendable {
  let status: Int
  let body: String

  /// - Throws: ``PeerError`` when no response came.
  static func get(_ url: String, _ arguments: String...) async throws -> CurlAnswer {
    let output = try await Tool.curl.run(
      ["-sS", "--max-time", "60", "-w", "\n%{http_code}", url] + arguments)
    let end = output.lastIndex(of: "\n") ?? output.endIndex
    return CurlAnswer(status: Int(output[end...].dropFirst()) ?? 0, body: String(output[..<end]))
  }
}

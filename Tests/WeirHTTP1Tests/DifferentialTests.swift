import Testing
import WeirHTTP1
import WeirTestSupport

/// Two other parsers read the same bytes: h11, and httptools, whose llhttp is that of Node.js. Where they agree and
/// weir does not, there must be a reason.
@Suite struct DifferentialTests {
  private static let python = Tool("h11", at: ["\(PackageRoot.path)/.build/test-venv/bin/python"])

  /// One verdict: `200:616263`, or `refused`.
  private struct Verdicts {
    let ours: String
    let h11: String
    let httptools: String

    /// The verdict of both others, if they agree.
    var agreed: String? { h11 == httptools ? h11 : nil }
  }

  private static func verdicts(on inputs: [[UInt8]]) async throws -> [Verdicts] {
    let directory = try TemporaryDirectory()
    let lines = inputs.map { $0.map(hex).joined() }.joined(separator: "\n")
    let file = try directory.file("responses", lines + "\n")
    let output = try await python.run(["\(PackageRoot.path)/Tests/Peers/responses.py", file])
    return try zip(inputs, output.split(separator: "\n")).map { input, line in
      let theirs = line.replacing(" open", with: "").split(separator: "\t").map(String.init)
      try #require(theirs.count == 2, "\(line)")
      return Verdicts(ours: verdict(Reading(input)), h11: theirs[0], httptools: theirs[1])
    }
  }

  /// How often each rule explains a difference; others are recorded as issues.
  private static func differences(on inputs: [[UInt8]]) async throws -> [KnownDifference: Int] {
    var (agreed, found) = (0, [KnownDifference: Int]())
    for (input, verdicts) in zip(inputs, try await verdicts(on: inputs)) {
      guard let theirs = verdicts.agreed else { continue }
      agreed += 1
      if theirs == verdicts.ours { continue }
      let reading = Reading(input)
      if let rule = KnownDifference(reading, of: input, theirs: theirs) {
        found[rule, default: 0] += 1
      } else {
        Issue.record("\(String(decoding: input, as: UTF8.self).debugDescription): \(reading.text), but \(theirs)")
      }
    }
    #expect(agreed > inputs.count / 2, "they don't say enough to compare with")
    return found
  }

  private static func verdict(_ reading: Reading) -> String {
    reading.defect == nil ? "\(reading.status):\(reading.body.map(hex).joined())" : "refused"
  }

  private static func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }

  @Test(.enabled(if: python.isInstalled, Comment(rawValue: python.isMissing)))
  func tables() async throws {
    let rows = (statusLineRows + fieldRows + framingRows + persistenceRows + chunkRows + endRows).filter {
      $0.terms == Terms() && !$0.bytes.isEmpty
    }
    #expect(rows.count > 150)
    let found = try await Self.differences(on: rows.map(\.bytes))
    #expect(
      found == [
        .otherVersions: 2, .blankBeforeColon: 1, .sameLengthOtherDigits: 1, .longExtensions: 1,
        .blankBeforeExtension: 1,
      ])
  }

  @Test(.enabled(if: python.isInstalled, Comment(rawValue: python.isMissing)))
  func mutations() async throws {
    var mutation = Mutation(seed: 1)
    let inputs = (0..<4000).map { _ in mutation.next() }.filter { !$0.isEmpty }
    let found = try await Self.differences(on: inputs)
    #expect(Set(found.keys).isSubset(of: [.otherVersions, .blankBeforeColon]))
    #expect(found.values.reduce(0, +) < 100)
  }
}

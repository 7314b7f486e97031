import Foundation
import WeirTestSupport

/// The rules that are shipped, with every duration divided by ten: what takes minutes on a real day takes seconds in a test.
/// Their logic is not touched; neither are rates, which are per second whatever the window. With `WEIR_TEST_REAL_TIME` in the
/// environment they are as they are shipped.
struct QuickRules {
  static let factor = ProcessInfo.processInfo.environment["WEIR_TEST_REAL_TIME"] == nil ? 10 : 1
  /// How many times as long everything takes as with the quick rules.
  static let slowness = 10 / factor

  /// The time, in seconds, for what takes `quick` seconds with the quick rules.
  static func seconds(_ quick: Double) -> Double { quick * Double(slowness) }

  let files: [String]
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    files = try ["recording.yml", "alerts.yml"].map { [directory] name in
      try directory.file(name, Self.quick(try PackageRoot.text(of: "deploy/prometheus/rules/\(name)")))
    }
  }

  /// Durations stand in brackets, behind `offset`, and behind `for:` and `interval:`. The steps of subqueries are in seconds.
  static func quick(_ rules: String, factor: Int = Self.factor) -> String {
    rules.replacing(#/(\[|offset |for: |interval: )(\d+)([mhd])/#) { match in
      let unit = ["m": 60, "h": 3_600, "d": 86_400][match.output.3] ?? 1
      return "\(match.output.1)\((Int(match.output.2) ?? 0) * unit / factor)s"
    }
    .replacing(#/:(\d+)s\]/#) { match in ":\((Int(match.output.1) ?? 0) * 1_000 / factor)ms]" }
  }
}

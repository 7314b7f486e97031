import Synchronization
import Testing
import Weir
import WeirIO
import WeirMetrics
import WeirOTLP
import WeirTestSupport

@testable import WeirExporter

/// Writes how many spans there are, and reads `rejected N`.
struct CountingEncoder: TelemetryEncoder {
  let contentType = "application/x-counts"

  func message(of spans: [[Span]], resource: [Attribute]) -> [UInt8] {
    Array("spans=\(spans.reduce(0) { $0 + $1.count });".utf8)
  }

  func message(ofMetrics resource: [Attribute]) -> [UInt8] { Array("metrics;".utf8) }

  func remark(in body: [UInt8], isError: Bool) -> (rejected: Int, text: String) {
    let text = String(decoding: body, as: UTF8.self)
    let words = text.split(separator: " ")
    return (words.first == "rejected" ? words.last.flatMap { Int($0) } ?? 0 : 0, text)
  }
}

/// An exporter with a collector, and what it tells.
struct TelemetryRig {
  let registry = Registry()
  let exporter: TelemetryExporter
  private let notes = Notes()

  private final class Notes: Sendable {
    let all = Mutex<[TelemetryNotice]>([])
  }

  init(
    to url: String, signal: TelemetrySignal = .traces, _ change: (inout TelemetrySettings) -> Void = { _ in }
  ) throws {
    var settings = TelemetrySettings()
    for each in TelemetrySignal.allCases {
      settings[each].endpoint.url = url
      settings[each].isOn = each == signal
    }
    change(&settings)
    var options = TelemetryExporter.Options()
    options.note = { [notes] notice in notes.all.withLock { $0.append(notice) } }
    exporter = try TelemetryExporter(settings, of: registry, options) { _ in CountingEncoder() }
  }

  var notices: [TelemetryNotice] { notes.all.withLock { $0 } }

  func spans() throws -> SpanQueue { try #require(exporter.spans) }

  private func value(_ start: String) -> Int {
    var page = ExpositionPage()
    registry.write(Exposition(.text), to: &page)
    let text = page.withBytes { String(decoding: $0, as: UTF8.self) }
    let line = text.split(separator: "\n").first { $0.hasPrefix(start) }
    return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
  }

  func exported(_ result: TelemetryMetrics.Result, _ signal: TelemetrySignal = .traces) -> Int {
    value("weir_telemetry_exported_total{signal=\"\(signal.rawValue)\",result=\"\(result.rawValue)\"}")
  }

  func dropped(_ reason: TelemetryMetrics.Reason, _ signal: TelemetrySignal = .traces) -> Int {
    value("weir_telemetry_dropped_total{signal=\"\(signal.rawValue)\",reason=\"\(reason.rawValue)\"}")
  }

  var waiting: Int { value("weir_telemetry_queue") }
}

extension Span {
  static func samples(_ count: Int) -> [Span] {
    (0..<count).map { Span("s", .client, at: Place(high: 1, low: 2, id: UInt64($0 + 1)), from: 1, to: 2) }
  }
}

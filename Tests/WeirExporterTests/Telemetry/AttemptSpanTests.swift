import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirCurl
import WeirOTLP
import WeirTransport

@testable import WeirExporter

/// The spans that records of attempts become.
@Suite struct AttemptSpanTests {
  private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
  private static let span = "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000ab-01"
  private static let before = "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000aa-01"

  private static func report(_ change: (inout AttemptReport) -> Void) -> AttemptReport {
    var report = AttemptReport()
    change(&report)
    return report
  }

  /// A record of an attempt of 50 ms.
  private static func record(
    number: Int = 1, _ url: String = "http://h:8080/a/b?key=secret", method: HTTPMethod = .get, status: Int? = 200,
    error: WeirError? = nil, report: AttemptReport = AttemptReport(),
    _ note: (inout AttemptRecord.Notes) -> Void = { _ in }
  ) throws -> AttemptRecord {
    var report = report
    report.statusCode = status
    report.total = 0.05
    var notes = AttemptRecord.Notes()
    notes.traceContext = TraceContext(traceparent: span, tracestate: "a=1")
    notes.parent = TraceContext(traceparent: parent)
    notes.destination = Destination(scheme: "http", host: "h", port: 8080)
    note(&notes)
    let interval = DateInterval(start: Date(timeIntervalSince1970: 1_700_000_000), duration: 0.05)
    return AttemptRecord(
      number: number, url: try #require(URL(string: url)), method: method,
      TransferMetrics(report, taskInterval: interval), error, notes)
  }

  private static let common = [
    "server.address=h", "server.port=8080", "url.scheme=http", "url.path=/a/b", "url.full=http://h:8080/a/b",
  ]

  @Test func placeAndTimes() throws {
    let span = try #require(Span(try Self.record()))
    #expect(span.place == Span.Place(high: 0x4bf9_2f35_77b3_4da6, low: 0xa3ce_929d_0e0e_4736, id: 0xab))
    #expect(span.parent == 0x00f0_67aa_0ba9_02b7 && span.flags == 1 && span.traceState == "a=1")
    #expect(span.start == 1_700_000_000_000_000_000 && span.end == 1_700_000_000_050_000_000)
    #expect(span.kind == .client && span.links.isEmpty && !span.hasRemoteParent)
  }

  @Test func noSpanWithoutAParent() throws {
    #expect(Span(try Self.record { $0.parent = nil }) == nil)
    #expect(Span(try Self.record { $0.traceContext = nil }) == nil)
  }

  @Test func anAnswer() throws {
    let record = try Self.record(
      report: Self.report {
        $0.phases[.queue] = 0.002
        $0.remoteAddress = "::1"
        $0.remotePort = 443
        $0.networkProtocolName = "h2"
      })
    #expect(
      Span(record)?.text == ["client GET 50000", "http.request.method=GET"] + Self.common + [
        "network.peer.address=::1", "network.peer.port=443", "network.protocol.version=2", "weir.queue.wait=0.002",
        "http.response.status_code=200",
      ])
  }

  @Test func phasesOfMoreThanAMillisecond() throws {
    let record = try Self.record(
      report: Self.report {
        $0.phases[.queue] = 0.004
        $0.phases[.resolve] = 0.002
        $0.phases[.connect] = 0.001
        $0.phases[.tunnel] = 0.003
        $0.phases[.tls] = 0.004
        $0.phases[.send] = 0.000_5
        $0.phases[.processing] = 0.03
        $0.phases[.transfer] = 0.009_5
      })
    let events = try #require(Span(record)).text.filter { $0.hasPrefix("@") }
    #expect(events == ["@2000 dns", "@6000 tunnel", "@10000 tls", "@40500 head"])
  }

  @Test func redirects() throws {
    let record = try Self.record(
      report: Self.report {
        $0.redirectCount = 1
        $0.phases[.processing] = 0.03
      }
    ) {
      $0.redirects = [
        AttemptRecord.Redirect(
          status: 307, destination: Destination(scheme: "https", host: "Other", port: 443), elapsed: 0.01)
      ]
    }
    let events = try #require(Span(record)).text.filter { $0.hasPrefix("@") }
    #expect(events == ["@10000 redirect http.response.status_code=307 weir.redirect.origin=https://other:443"])
  }

  @Test func retriesAndHedges() throws {
    let retry = try #require(
      Span(
        try Self.record(number: 3) {
          $0.previous = TraceContext(traceparent: Self.before)
          $0.retryReason = RetryReason(rawValue: "timed_out")
          $0.endpoint = "10.0.0.1:80"
        }))
    #expect(retry.links.map(\.id) == [0xaa])
    #expect(retry.value("http.request.resend_count") == .integer(2))
    #expect(retry.value("weir.retry.reason") == .string("timed_out"))
    #expect(retry.value("weir.endpoint") == .string("10.0.0.1:80"))
    let hedge = try #require(Span(try Self.record(number: 2) { $0.isHedge = true }))
    #expect(hedge.value("weir.hedge") == .boolean(true))
    // The attempt before it was not sent.
    #expect(hedge.value("http.request.resend_count") == nil && hedge.links.isEmpty)
  }

  @Test(arguments: [
    (status: 399 as Int?, error: nil as WeirError?, type: nil as String?), (400, nil, "400"), (503, nil, "503"),
    (503, .responseValidationFailed(reason: .unacceptableStatusCode(code: 503)), "503"),
    (200, .responseValidationFailed(reason: .dataFileNil), "data_file_nil"),
    (nil, .sessionTaskFailed(error: URLError(.timedOut)), "timed_out"),
    (nil, .explicitlyCancelled, "explicitly_cancelled"),
  ]) func failures(status: Int?, error: WeirError?, type: String?) throws {
    let span = try #require(Span(try Self.record(status: status, error: error)))
    #expect(span.isError == (type != nil))
    #expect(span.value("error.type") == type.map { .string($0) })
    #expect(span.statusText.isEmpty == (type == nil || (status ?? 0) >= 400))
  }

  @Test func anAbandonedAttemptHasNotFailed() throws {
    let error = WeirError.sessionTaskFailed(error: URLError(.cancelled))
    let span = try #require(Span(try Self.record(status: nil, error: error) { $0.isAbandoned = true }))
    #expect(!span.isError && span.value("error.type") == nil)
    #expect(span.value("weir.outcome") == .string("abandoned"))
  }

  @Test func otherMethods() throws {
    let long = String(repeating: "X", count: 70)
    let span = try #require(Span(try Self.record(method: HTTPMethod(rawValue: long))))
    #expect(span.name == "HTTP" && span.value("http.request.method") == .string("_OTHER"))
    #expect(span.value("http.request.method_original") == .string(String(long.prefix(64))))
  }

  @Test(arguments: [
    ("http://h:8080", "/", "http://h:8080"), ("http://h:8080/?a=1", "/", "http://h:8080/"),
    ("http://h:8080?a=1", "/", "http://h:8080"), ("http://h:8080/a#b?c", "/a", "http://h:8080/a"),
    ("http://me:secret@h:8080/a", "/a", "http://<redacted>@h:8080/a"),
  ]) func urls(url: String, path: String, full: String) throws {
    let span = try #require(Span(try Self.record(url)))
    #expect(span.value("url.path") == .string(path) && span.value("url.full") == .string(full))
  }

  @Test func requests() throws {
    let context = try #require(TraceContext(traceparent: Self.parent))
    let trace = RecordedTrace(parent: context, isRoot: true, start: Date(timeIntervalSince1970: 1_700_000_000))
    let place = Destination(scheme: "https", host: "h", port: 443)
    let failed = Span(
      ofRequest: trace, method: .post, destination: place, outcome: .httpError, status: 503,
      error: .responseValidationFailed(reason: .unacceptableStatusCode(code: 503)), duration: 0.25)
    #expect(failed.parent == 0 && failed.place == Span.Place(context))
    #expect(
      failed.text == [
        "internal POST 250000", "http.request.method=POST", "server.address=h", "server.port=443",
        "weir.outcome=http_error", "http.response.status_code=503", "error.type=503", "error ",
      ])
    let unmade = Span(
      ofRequest: trace, method: nil, destination: nil, outcome: .creationFailed, status: nil,
      error: .invalidURL(url: ""), duration: 0)
    #expect(
      unmade.text == [
        "internal HTTP 0", "weir.outcome=creation_failed", "error.type=invalid_url", "error Not a URL: \"\"",
      ])
    let unread = Span(
      ofRequest: trace, method: .get, destination: nil, outcome: .serializationFailed, status: 200, error: nil,
      duration: 0)
    #expect(unread.isError && unread.value("error.type") == .string("serialization_failed"))
  }

  @Test func secondsThatAreNone() {
    #expect([-1, .nan, .infinity, 1e300].map { UInt64(nanosecondsIn: $0) } == [0, 0, 0, 0])
    #expect(UInt64(nanosecondsIn: 1.5) == 1_500_000_000)
  }
}

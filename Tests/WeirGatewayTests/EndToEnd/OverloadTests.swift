import Foundation
import Glibc
import Synchronization
import Testing
import Weir
import WeirIO
import WeirMetrics
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// An upstream that gets three times the requests that it can answer, from callers that wait for half a second.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct OverloadTests {
  @Test func anOverloadIsRefusedInPartAndToldOf() throws {
    let load = try OverloadedRig()
    #expect(try load.warmUp())
    load.callers.begin()
    #expect(eventually { load.callers.heard.count >= 20 })
    for refusal in load.callers.heard {
      let reason = refusal.values("X-Weir-Refused").first
      #expect(refusal.status == 503)
      #expect(refusal.values("Retry-After") == ["1"])
      #expect(refusal.values("X-No-Retry") == ["overload"])
      let text = "the upstream gets more requests than it can answer in time"
      switch reason {
      case "overload": #expect(refusal.text == text + "\n")
      case "waited": #expect(refusal.text == text + "; this one has waited for too long\n")
      default: Issue.record("\(refusal)")
      }
    }
    // It still answers as many as it can.
    let answered = load.callers.answered
    #expect(eventually { load.callers.answered >= answered + 20 })
    #expect(eventually { load.sample("weir_service_rate") ?? 0 > 1 })
    #expect(load.sample("weir_concurrency_limit") ?? 512 < 512)
    #expect(eventually { !load.lines.saying("upstream overloaded").isEmpty })
    let line = try #require(load.lines.saying("upstream overloaded").first)
    #expect(line.contains(" level=warn "), "\(line)")
    let figures = #/ offered=[1-9]\d* served=\d+ shed=\d+ limit=[1-9]\d* baseline=[\d.]+ window=[\d.]+$/#
    #expect(line.contains(" upstream=127.0.0.1:\(load.port) ") && line.contains(figures), "\(line)")
    // Callers have left before anything was refused.
    #expect(!load.lines.saying("callers gave up").isEmpty)
    #expect(load.abandoned > 0)
    #expect(load.lines.saying("request failed") == [])

    load.callers.end()
    #expect(eventually { load.lines.saying("overload is over").count == 1 })
    let last = try #require(load.lines.saying("overload is over").first)
    #expect(last.contains(" level=info ") && last.contains(#/ seconds=[\d.]+ shed=[1-9]\d*$/#), "\(last)")
    #expect(eventually { load.sample("weir_overload_state", "state=\"normal\"") == 1 })
    // Under a sanitizer the answers can take so long that all callers of a moment have left.
    #expect(load.lines.saying("upstream is silent") == [] || ThisProcess.isSanitized)
  }

  /// A reload that does not change load control keeps the limit. One that turns it off lets the waiting requests end.
  @Test func aReloadKeepsTheLimitUntilItIsTurnedOff() async throws {
    let load = try OverloadedRig()
    #expect(try load.warmUp())
    load.callers.begin()
    #expect(eventually { load.callers.heard.count >= 20 && load.sample("weir_concurrency_limit") ?? 512 < 512 })
    var route = try Route(to: load.port)
    route.timeout = .seconds(29)
    try await load.rig.gateway.reload(Configuration(routes: [route]))
    // The load control of before goes on: a new one would let everything through.
    let (refused, lines) = (load.callers.heard.count, load.lines.saying("overload is over").count)
    #expect(eventually { load.callers.heard.count > refused + 20 })
    #expect(load.sample("weir_concurrency_limit") ?? 512 < 512)
    #expect(load.lines.saying("overload is over").count == lines)

    route.overload = nil
    try await load.rig.gateway.reload(Configuration(routes: [route]))
    #expect(eventually { load.sample("weir_concurrency_limit") == nil })
    let begun = load.callers.begun
    #expect(eventually { load.callers.begun > begun + 20 })
    // Attempts that began with load control may tell of it while a page is written, which the next page does not have.
    #expect(eventually { load.sample("weir_concurrency_limit") == nil })
    #expect(eventually { load.sample("weir_overload_state", "state=\"overloaded\"") == nil })
    load.callers.end()
    let active = "http_server_active_requests{http_request_method=\"GET\",url_scheme=\"http\"}"
    #expect(eventually { load.rig.sample(active) == 0 })
  }
}

/// A gateway in front of an upstream that does one request after another, each in 50 ms.
private final class OverloadedRig: Sendable {
  let rig: GatewayRig
  let lines = LoggedLines()
  let callers: Callers
  let port: Int
  private let upstream: SlowOrigin

  init() throws {
    upstream = try SlowOrigin(seconds: 0.05)
    port = upstream.port
    rig = try GatewayRig(Route(to: port), window: 1, log: lines.log)
    callers = Callers(rig)
  }

  deinit { callers.end() }

  func warmUp() throws -> Bool {
    let client = try rig.client()
    return eventually {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      return client.response()?.status == 200 && sample("weir_baseline_seconds") != nil
    }
  }

  func sample(_ name: String, _ more: String = "") -> Double? {
    rig.sample(
      "\(name){server_address=\"127.0.0.1\",server_port=\"\(port)\"\(more.isEmpty ? "" : ",\(more)")}")
  }

  var abandoned: Double { sample("weir_requests_abandoned_total", "phase=\"upstream\"") ?? 0 }
}

/// Sixty requests a second, each on a connection of its own that is closed after half a second without an answer.
private final class Callers: Sendable {
  private struct Counts {
    var begun = 0
    var answered = 0
    var heard: [RawClient.Response] = []
  }

  private let rig: GatewayRig
  private let counts = Mutex(Counts())
  private let isOver = Atomic(false)
  private let thread = DispatchGroup()

  init(_ rig: GatewayRig) {
    self.rig = rig
  }

  var begun: Int { counts.withLock { $0.begun } }
  var answered: Int { counts.withLock { $0.answered } }
  /// The refusals.
  var heard: [RawClient.Response] { counts.withLock { $0.heard } }

  func begin() {
    thread.enter()
    Thread.detachNewThread { [self] in
      run()
      thread.leave()
    }
  }

  func end() {
    isOver.store(true, ordering: .relaxed)
    thread.wait()
  }

  private func run() {
    var waiting: [(client: RawClient, leaves: MonotonicTime)] = []
    var next = MonotonicTime.now
    while !isOver.load(ordering: .relaxed) {
      let now = MonotonicTime.now
      if next <= now, let client = try? rig.client() {
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        waiting.append((client, now.advanced(bySeconds: 0.5)))
        counts.withLock { $0.begun += 1 }
        next = now.advanced(bySeconds: 1 / 60)
      }
      waiting.removeAll { caller in
        if caller.client.hasInput {
          note(caller.client.response())
          return true
        }
        return caller.leaves <= now
      }
      letPass(0.001)
    }
  }

  private func note(_ response: RawClient.Response?) {
    guard let response else { return }
    counts.withLock { if response.status == 200 { $0.answered += 1 } else { $0.heard.append(response) } }
  }
}

import Dispatch
import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir
@testable import WeirTransport

/// The closures of a monitor that is made of them.
@Suite("Monitors made of closures", .timeLimit(.minutes(5)))
struct ClosureEventMonitorTests {
  private static let folder = URL(filePath: #filePath).appending(path: "../../../../Sources/Weir/Events").standardized

  /// A source without comments and white space.
  private static func source(_ name: String) throws -> String {
    let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    return text.components(separatedBy: "\n").filter { !$0.contains(/^ *\/\//) }.joined(separator: "\n")
  }

  private static func sources(_ prefix: String) throws -> String {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    return try names.filter { $0.hasPrefix(prefix) }.map { try source($0) }.joined()
  }

  private static func compact(_ text: String) -> String { text.replacing(/\s/, with: "") }

  @Test("Each callback of EventMonitor passes on to a closure of its own")
  func oneClosurePerCallback() throws {
    let monitor = try Self.source("EventMonitor.swift")
    let body = try #require(monitor.firstMatch(of: /public protocol EventMonitor: Sendable \{((?s).*?)\n\}\n/)).output.1
    let callbacks = body.components(separatedBy: "func ").dropFirst().map(Self.compact)
    #expect(callbacks.count > 50)

    let table = try Self.sources("UniformEventMonitor")
    var closures: [String: String] = [:]
    for function in table.components(separatedBy: "public func ").dropFirst() {
      let match = try #require(function.firstMatch(of: /^((?s).*?\)) \{\n(?s).*?\$0\.([a-zA-Z]+)\?\(/))
      closures[Self.compact(String(match.output.1))] = String(match.output.2)
    }
    let properties = try Self.sources("ClosureEventMonitor")
    for callback in callbacks {
      let closure = closures[callback] ?? "none"
      let isThere = properties.contains("public var \(closure):")
      #expect(isThere, "\(callback) has no closure")
    }
    #expect(Set(closures.values).count == callbacks.count)
  }

  @Test("Closures hear of what weir adds to Alamofire's events")
  func additions() async throws {
    let server = try answering(okResponse("1"))
    let session = Session()
    let request = session.request(server.url)
    _ = await request.plainResponse()
    let metrics = try #require(request.metrics)
    let place = Destination(scheme: "http", host: "h", port: 1)
    let heard = Journal<String>()
    let monitor = ClosureEventMonitor()
    monitor.requestDidAdaptUsing = { heard.append("adapted \($0 == request) \($1) \($2) \($3 == nil)") }
    monitor.requestDidStartAttempt = { heard.append("started \($0 == request) \($1)") }
    monitor.requestDidEndAttempt = { heard.append("ended \($0 == request) \($1) \($2 == metrics) \($3 == nil)") }
    monitor.requestDidRecordAttempt = { heard.append("recorded \($0 == request) \($1.number)") }
    monitor.requestWillRetryAfter = { heard.append("retries \($0 == request) \($1) \($2.rawValue) \($3.rawValue)") }
    monitor.requestDidDenyRetry = { heard.append("denied \($0 == request) \($1.reason.rawValue)") }
    monitor.requestHedge = { heard.append("hedge \($0 == request) \($1.rawValue)") }
    monitor.requestCacheResult = { heard.append("cache \($0 == request) \($1.rawValue)") }
    monitor.requestDidReceiveInformationalResponse = { heard.append("hints \($0 == request) \($1.statusCode)") }
    monitor.requestDidSettle = { heard.append("settled \($0 == request) \($1.rawValue)") }
    monitor.sessionConnectionEvent = { heard.append("connection \($0 === session) \($1.kind.rawValue)") }
    monitor.sessionLoopLag = { heard.append("lag \($0 === session) \($1)") }
    monitor.sessionRetryBudget = { heard.append("budget \($0 === session) \($1) \($2)") }
    monitor.sessionCircuitEnteredState = { heard.append("circuit \($0 === session) \($1) \($2.rawValue)") }
    monitor.requestWaitedForPace = { heard.append("waited \($0 == request) \($1)") }
    monitor.requestWasShed = { heard.append("shed \($0 == request) \($1.rawValue)") }
    monitor.requestAbandoned = { heard.append("abandoned \($0 == request) \($1.rawValue)") }
    monitor.sessionOverloadEnteredState = { heard.append("overload \($0 === session) \($1) \($2.rawValue)") }
    monitor.sessionOverloadReport = { heard.append("report \($0 === session) \($1) \($2.limit)") }
    monitor.sessionPaceReport = { heard.append("pace \($0 === session) \($1) \($2.left) \($2.begun)") }
    monitor.sessionEndpointEvent = { heard.append("endpoint \($0 === session) \($1) \($2)") }
    monitor.sessionRefreshEvent = { heard.append("refresh \($0 === session) \($1.interceptor)") }

    monitor.request(request, didAdaptUsing: "token", duration: 1, failed: nil)
    monitor.request(request, didStartAttempt: 2)
    monitor.request(request, didEndAttempt: 2, metrics: metrics, error: nil)
    monitor.request(
      request,
      didRecordAttempt: AttemptRecord(number: 2, HopRequest(URLRequest(url: URL(filePath: "/"))), metrics, nil, .init())
    )
    monitor.request(request, willRetryAfter: 3, source: .backoff, reason: RetryReason(rawValue: "503"))
    monitor.request(request, didDenyRetry: RetryDenial(reason: .limit))
    monitor.request(request, hedge: .won)
    monitor.request(request, cache: .miss)
    if let url = URL(string: server.url),
      let hints = HTTPURLResponse(url: url, statusCode: 103, httpVersion: nil, headerFields: nil)
    {
      monitor.request(request, didReceiveInformationalResponse: hints)
    }
    monitor.requestDidSettle(request, outcome: .success)
    monitor.session(session, connectionEvent: ConnectionEvent(kind: .opened, destination: place))
    monitor.session(session, loopLag: 4)
    monitor.session(session, retryBudget: place, available: 5)
    monitor.session(session, circuit: place, entered: .open)
    monitor.request(request, waitedForPace: 6)
    monitor.request(request, wasShed: .waited)
    monitor.request(request, abandonedIn: .upstream)
    monitor.session(session, overload: place, entered: .overloaded)
    monitor.session(session, overload: place, report: OverloadReport(state: .overloaded, limit: 6, used: 5))
    monitor.session(session, pace: place, report: PauseReport(left: 7, begun: 1))
    monitor.session(session, endpointsOf: place, event: EndpointEvent(endpoint: "a:1", kind: .returned))
    monitor.session(session, refresh: RefreshEvent(interceptor: "token", kind: .began, waiters: 1))
    #expect(
      heard.entries == [
        "adapted true token 1.0 true", "started true 2", "ended true 2 true true", "recorded true 2",
        "retries true 3.0 backoff 503",
        "denied true limit", "hedge true won", "cache true miss", "hints true 103", "settled true success",
        "connection true opened",
        "lag true 4.0", "budget true \(place) 5.0", "circuit true \(place) open", "waited true 6.0", "shed true waited",
        "abandoned true upstream", "overload true \(place) overloaded", "report true \(place) 6",
        "pace true \(place) 7.0 1",
        "endpoint true \(place) a:1 is back", "refresh true token",
      ])
  }

  @Test("Closures get serialized values of any type")
  func values() async throws {
    let server = try answering(okResponse("17"))
    let heard = Journal<String>()
    let monitor = ClosureEventMonitor()
    monitor.requestDidParseValue = { heard.append("data \($1.value as? Int ?? 0)") }
    monitor.requestDidParseDownloadValue = { heard.append("download \($1.value as? String ?? "")") }
    monitor.requestDidParseStream = { heard.append("stream \((try? $1.get()) as? String ?? "")") }
    monitor.requestDidParseResponse = { _, _ in heard.append("as it is") }
    let session = Session(eventMonitors: [monitor])
    #expect(await session.request(server.url).serializingDecodable(Int.self).response.value == 17)
    await heard.wait { $0.count == 1 }
    #expect(await session.download(server.url).serializingString().response.value == "17")
    await heard.wait { $0.count == 2 }
    for await _ in session.streamRequest(server.url).streamTask().streamingStrings() {}
    await heard.wait { $0.count == 3 }
    #expect(heard.entries == ["data 17", "download 17", "stream 17"])
  }
}

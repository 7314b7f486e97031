import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir
@testable import WeirTransport

/// Which monitors a composite passes each event on to.
@Suite("Composite monitors", .timeLimit(.minutes(5)))
struct CompositeEventMonitorTests {
  private static let groups: [(name: String, interests: EventInterests)] = [
    ("lifecycle", .lifecycle), ("creation", .creation), ("tasks", .tasks), ("data", .data), ("responses", .responses),
    ("attempts", .attempts), ("session", .session), ("redirects", .redirects), ("connections", .connections),
    ("connectionUse", .connectionUse), ("resilience", .resilience), ("challenges", .challenges),
    ("records", .records),
  ]

  @Test("An event reaches the monitors that want its group, once, and no other")
  func groups() async throws {
    let server = try answering(okResponse("body"))
    let heard = Journal<String>()
    let session = Session(eventMonitors: Self.groups.map { Ear(group: $0.name, interests: $0.interests, heard: heard) })
    let request = session.request(server.url)
    _ = await request.plainResponse()
    await session.loopTurn()
    let events = Events(
      session: session, request: request, task: try #require(request.task), metrics: try #require(request.metrics),
      head: try #require(request.response))
    for (event, groups, send) in events.table {
      let before = heard.entries.count
      send(session.eventMonitor)
      #expect(Array(heard.entries.dropFirst(before)) == groups.map { "\($0) \(event)" })
    }
  }

  @Test("A composite given as a monitor is its members, in their order")
  func nested() {
    let heard = Journal<String>()
    let ears = ["lifecycle", "attempts"].map { Ear(group: $0, interests: .attempts, heard: heard) }
    let session = Session(eventMonitors: [Session(eventMonitors: ears).eventMonitor, ears[0]])
    #expect(session.eventMonitor.monitors.compactMap { ($0 as? Ear)?.group } == ["lifecycle", "attempts", "lifecycle"])
    #expect(session.eventMonitor.interests == .attempts)
  }
}

/// Every event, the groups that hear of it, and how it is sent.
private struct Events {
  let session: Session
  let request: DataRequest
  let task: TransferTask
  let metrics: TransferMetrics
  let head: HTTPURLResponse

  private static let destination = Destination(scheme: "http", host: "h", port: 1)

  private var urlRequest: URLRequest { URLRequest(url: head.url ?? URL(filePath: "/")) }

  private var plain: WeirDataResponse<Data?> {
    WeirDataResponse(
      request: nil, response: head, data: nil, metrics: nil, serializationDuration: 0, result: .success(nil))
  }

  var table: [(String, [String], (CompositeEventMonitor) -> Void)] { sessionLevel + creation + lifecycle + others }

  private var sessionLevel: [(String, [String], (CompositeEventMonitor) -> Void)] {
    [
      ("invalid", ["session"], { $0.urlSession(session, didBecomeInvalidWithError: nil) }),
      ("loopLag", ["session"], { $0.session(session, loopLag: 1) }),
      ("circuit", ["resilience"], { $0.session(session, circuit: Self.destination, entered: .open) }),
      ("overload", ["resilience"], { $0.session(session, overload: Self.destination, entered: .silent) }),
      (
        "report", ["resilience"],
        {
          $0.session(
            session, overload: Self.destination, report: OverloadReport(state: .normal, limit: 1, used: 0))
        }
      ),
      (
        "pace", ["resilience"],
        { $0.session(session, pace: Self.destination, report: PauseReport(left: 1, begun: 1)) }
      ),
      (
        "endpoints", ["resilience"],
        {
          $0.session(
            session, endpointsOf: Self.destination, event: EndpointEvent(endpoint: "a:1", kind: .returned))
        }
      ),
      (
        "retryBudget", ["resilience"],
        { $0.session(session, retryBudget: Self.destination, available: 1) }
      ),
      (
        "sendBody", ["data"],
        {
          $0.urlSession(
            session, task: task, didSendBodyData: 1, totalBytesSent: 2, totalBytesExpectedToSend: 3)
        }
      ),
      (
        "redirection", ["redirects"],
        { $0.urlSession(session, task: task, willPerformHTTPRedirection: head, newRequest: urlRequest) }
      ),
      (
        "challenge", ["challenges"],
        {
          $0.urlSession(
            session, task: task,
            didReceive: TransferChallenge(
              protectionSpace: URLProtectionSpace(
                host: "h", port: 80, protocol: "http", realm: nil, authenticationMethod: nil),
              previousFailureCount: 0, proposedCredential: nil, failureResponse: head))
        }
      ),
      ("collected", ["tasks"], { $0.urlSession(session, task: task, didFinishCollecting: metrics) }),
      ("complete", ["tasks"], { $0.urlSession(session, task: task, didCompleteWithError: nil) }),
      ("waiting", ["tasks"], { $0.urlSession(session, taskIsWaitingForConnectivity: task) }),
      ("head", ["tasks"], { $0.urlSession(session, dataTask: task, didReceive: head) }),
      ("data", ["data"], { $0.urlSession(session, dataTask: task, didReceive: Data()) }),
      ("opened", ["connections"], { $0.session(session, connectionEvent: connection(.opened)) }),
      ("closed", ["connections"], { $0.session(session, connectionEvent: connection(.closed)) }),
      ("reused", ["connectionUse"], { $0.session(session, connectionEvent: connection(.reused)) }),
      ("idle", ["connectionUse"], { $0.session(session, connectionEvent: connection(.idle)) }),
    ]
  }

  private func connection(_ kind: ConnectionEvent.Kind) -> ConnectionEvent {
    ConnectionEvent(kind: kind, destination: Destination(scheme: "http", host: "h", port: 80))
  }

  private var creation: [(String, [String], (CompositeEventMonitor) -> Void)] {
    [
      ("createInitial", ["creation"], { $0.request(request, didCreateInitialURLRequest: urlRequest) }),
      (
        "failToCreate", ["creation"],
        { $0.request(request, didFailToCreateURLRequestWithError: .explicitlyCancelled) }
      ),
      ("adapt", ["creation"], { $0.request(request, didAdaptInitialRequest: urlRequest, to: urlRequest) }),
      (
        "failToAdapt", ["creation"],
        { $0.request(request, didFailToAdaptURLRequest: urlRequest, withError: .explicitlyCancelled) }
      ),
      ("create", ["creation"], { $0.request(request, didCreateURLRequest: urlRequest) }),
    ]
  }

  private var lifecycle: [(String, [String], (CompositeEventMonitor) -> Void)] {
    [
      ("createTask", ["lifecycle"], { $0.request(request, didCreateTask: task) }),
      ("gatherMetrics", ["tasks"], { $0.request(request, didGatherMetrics: metrics) }),
      ("failTask", ["lifecycle"], { $0.request(request, didFailTask: task, earlyWithError: .explicitlyCancelled) }),
      ("completeTask", ["lifecycle"], { $0.request(request, didCompleteTask: task, with: nil) }),
      ("resumeTask", ["lifecycle"], { $0.request(request, didResumeTask: task) }),
      ("suspendTask", ["lifecycle"], { $0.request(request, didSuspendTask: task) }),
      ("cancelTask", ["lifecycle"], { $0.request(request, didCancelTask: task) }),
      ("isRetrying", ["lifecycle", "attempts"], { $0.requestIsRetrying(request) }),
      ("finish", ["lifecycle"], { $0.requestDidFinish(request) }),
      ("resume", ["lifecycle"], { $0.requestDidResume(request) }),
      ("suspend", ["lifecycle"], { $0.requestDidSuspend(request) }),
      ("cancel", ["lifecycle"], { $0.requestDidCancel(request) }),
    ]
  }

  private var others: [(String, [String], (CompositeEventMonitor) -> Void)] {
    [
      (
        "validate", ["responses"],
        {
          $0.request(
            request, didValidateRequest: nil, response: head, data: nil, withResult: .success(()))
        }
      ),
      ("parsePlain", ["responses"], { $0.request(request, didParseResponse: plain) }),
      ("parse(Int)", ["responses"], { $0.request(request, didParseResponse: plain.map { _ in 1 }) }),
      ("informational(200)", ["responses"], { $0.request(request, didReceiveInformationalResponse: head) }),
      ("adaptUsing(a)", ["attempts"], { $0.request(request, didAdaptUsing: "a", duration: 1, failed: nil) }),
      ("start(1)", ["attempts"], { $0.request(request, didStartAttempt: 1) }),
      ("end(1)", ["attempts"], { $0.request(request, didEndAttempt: 1, metrics: metrics, error: nil) }),
      (
        "record(1)", ["records"],
        {
          $0.request(
            request, didRecordAttempt: AttemptRecord(number: 1, HopRequest(urlRequest), metrics, nil, .init()))
        }
      ),
      (
        "willRetry(2.0)", ["attempts"],
        { $0.request(request, willRetryAfter: 2, source: .backoff, reason: RetryReason(rawValue: "503")) }
      ),
      ("deny(body)", ["attempts"], { $0.request(request, didDenyRetry: RetryDenial(reason: .body)) }),
      ("waited(3.0)", ["attempts"], { $0.request(request, waitedForPace: 3) }),
      ("shed(waited)", ["attempts"], { $0.request(request, wasShed: .waited) }),
      ("abandoned(queue)", ["attempts"], { $0.request(request, abandonedIn: .queue) }),
      ("settle(success)", ["attempts"], { $0.requestDidSettle(request, outcome: .success) }),
    ] + uploads
  }

  private var uploads: [(String, [String], (CompositeEventMonitor) -> Void)] {
    let upload = session.upload(Data(), to: "http://127.0.0.1:1/", shouldAutomaticallyResume: false)
    return [
      ("needStream", ["tasks"], { $0.urlSession(session, taskNeedsNewBodyStream: task) }),
      ("uploadable", ["creation"], { $0.request(upload, didCreateUploadable: .data(Data())) }),
      (
        "failUploadable", ["creation"],
        { $0.request(upload, didFailToCreateUploadableWithError: .explicitlyCancelled) }
      ),
      ("stream", ["tasks"], { $0.request(upload, didProvideInputStream: InputStream(data: Data())) }),
    ]
  }
}

/// Notes what it hears, under the name of the group it listens to.
private struct Ear: InlineEventMonitor {
  let group: String
  let interests: EventInterests
  let heard: Journal<String>

  private func note(_ event: String) { heard.append("\(group) \(event)") }

  func urlSession(_: Session, didBecomeInvalidWithError: (any Error)?) { note("invalid") }
  func session(_: Session, loopLag: TimeInterval) { note("loopLag") }
  func session(_: Session, circuit: Destination, entered: CircuitState) { note("circuit") }
  func session(_: Session, overload: Destination, entered: OverloadState) { note("overload") }
  func session(_: Session, overload: Destination, report: OverloadReport) { note("report") }
  func session(_: Session, pace: Destination, report: PauseReport) { note("pace") }
  func session(_: Session, endpointsOf: Destination, event: EndpointEvent) { note("endpoints") }
  func session(_: Session, retryBudget: Destination, available: Double) { note("retryBudget") }
  func urlSession(
    _: Session, task: TransferTask, didSendBodyData: Int64, totalBytesSent: Int64, totalBytesExpectedToSend: Int64
  ) { note("sendBody") }
  func urlSession(
    _: Session, task: TransferTask, willPerformHTTPRedirection: HTTPURLResponse, newRequest: URLRequest
  ) { note("redirection") }
  func urlSession(_ session: Session, task: TransferTask, didReceive challenge: TransferChallenge) { note("challenge") }
  func urlSession(_: Session, task: TransferTask, didFinishCollecting: TransferMetrics) { note("collected") }
  func urlSession(_: Session, task: TransferTask, didCompleteWithError: (any Error)?) { note("complete") }
  func urlSession(_: Session, taskIsWaitingForConnectivity: TransferTask) { note("waiting") }
  func urlSession(_: Session, dataTask: TransferTask, didReceive: URLResponse) { note("head") }
  func urlSession(_: Session, dataTask: TransferTask, didReceive: Data) { note("data") }
  func session(_: Session, connectionEvent event: ConnectionEvent) { note(event.kind.rawValue) }

  func request(_: Request, didCreateInitialURLRequest: URLRequest) { note("createInitial") }
  func request(_: Request, didFailToCreateURLRequestWithError: WeirError) { note("failToCreate") }
  func request(_: Request, didAdaptInitialRequest: URLRequest, to: URLRequest) { note("adapt") }
  func request(_: Request, didFailToAdaptURLRequest: URLRequest, withError: WeirError) { note("failToAdapt") }
  func request(_: Request, didCreateURLRequest: URLRequest) { note("create") }

  func request(_: Request, didCreateTask: TransferTask) { note("createTask") }
  func request(_: Request, didGatherMetrics: TransferMetrics) { note("gatherMetrics") }
  func request(_: Request, didFailTask: TransferTask, earlyWithError: WeirError) { note("failTask") }
  func request(_: Request, didCompleteTask: TransferTask, with: WeirError?) { note("completeTask") }
  func request(_: Request, didResumeTask: TransferTask) { note("resumeTask") }
  func request(_: Request, didSuspendTask: TransferTask) { note("suspendTask") }
  func request(_: Request, didCancelTask: TransferTask) { note("cancelTask") }
  func requestIsRetrying(_: Request) { note("isRetrying") }
  func requestDidFinish(_: Request) { note("finish") }
  func requestDidResume(_: Request) { note("resume") }
  func requestDidSuspend(_: Request) { note("suspend") }
  func requestDidCancel(_: Request) { note("cancel") }

  func request(
    _: DataRequest, didValidateRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult: Request.ValidationResult
  ) { note("validate") }
  func request(_: DataRequest, didParseResponse: DataResponse<Data?, WeirError>) { note("parsePlain") }
  func request<Value>(_: DataRequest, didParseResponse: DataResponse<Value, WeirError>) { note("parse(\(Value.self))") }

  func request(_: Request, didReceiveInformationalResponse response: HTTPURLResponse) {
    note("informational(\(response.statusCode))")
  }
  func request(_: Request, didAdaptUsing name: String, duration: TimeInterval, failed: (any Error)?) {
    note("adaptUsing(\(name))")
  }
  func request(_: Request, didStartAttempt number: Int) { note("start(\(number))") }
  func request(_: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?) {
    note("end(\(number))")
  }
  func request(_: Request, didRecordAttempt record: AttemptRecord) { note("record(\(record.number))") }
  func request(_: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason) {
    note("willRetry(\(delay))")
  }
  func request(_: Request, didDenyRetry denial: RetryDenial) { note("deny(\(denial.reason.rawValue))") }
  func request(_: Request, waitedForPace seconds: TimeInterval) { note("waited(\(seconds))") }
  func request(_: Request, wasShed reason: ShedReason) { note("shed(\(reason.rawValue))") }
  func request(_: Request, abandonedIn phase: AbandonedPhase) { note("abandoned(\(phase.rawValue))") }
  func requestDidSettle(_: Request, outcome: RequestOutcome) { note("settle(\(outcome.rawValue))") }

  // MARK: Uploads
  func urlSession(_: Session, taskNeedsNewBodyStream: TransferTask) { note("needStream") }
  func request(_: UploadRequest, didCreateUploadable: UploadRequest.Uploadable) { note("uploadable") }
  func request(_: UploadRequest, didFailToCreateUploadableWithError: WeirError) { note("failUploadable") }
  func request(_: UploadRequest, didProvideInputStream: InputStream) { note("stream") }
}

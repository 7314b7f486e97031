import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// The monitors that weir brings: closures, lines of a log, notifications.
@Suite("Monitors", .timeLimit(.minutes(5)))
struct MonitorTests {
  @Test("A monitor that hears late of a validation is told of the response that was validated")
  func validationHeardLate() async throws {
    let queue = DispatchQueue(label: "monitor")
    let bodies = Journal<String?>()
    let monitor = ClosureEventMonitor(queue: queue)
    monitor.requestDidValidateRequestResponseDataWithResult = { _, _, _, data, _ in
      bodies.append(data.map { String(decoding: $0, as: UTF8.self) })
    }
    let server = try answeringInTurn(response("503 Busy", body: "first"), okResponse("second"))
    let retrier = Retrier { $3($0.retryCount == 0 ? .retry : .doNotRetry) }
    let session = Session(interceptor: Interceptor(retriers: [retrier]), eventMonitors: [monitor])
    queue.suspend()
    let request = session.request(server.url).validate(statusCode: 200..<300)
    #expect(await request.serializingString().response.value == "second")
    queue.resume()
    await bodies.wait { $0.count == 2 }
    #expect(bodies.entries == ["first", "second"])
  }

  @Test("Informational responses are told of in their order, before the response")
  func informationalResponses() async throws {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
    let server = try answeringInTurn(
      "HTTP/1.1 102 Processing\r\n\r\n" + hints + response("307 Moved", ["Location: /next"]), hints + okResponse("body")
    )
    let recorder = EventRecorder(notingAttempts: true)
    let links = Journal<String?>()
    let monitor = ClosureEventMonitor()
    monitor.requestDidReceiveInformationalResponse = { links.append($1.value(forHTTPHeaderField: "link")) }
    let session = Session(eventMonitors: [recorder])
    let request = session.request(server.url).eventMonitor(monitor)
    #expect(await request.serializingString().response.value == "body")
    await links.wait { $0.count == 3 }
    #expect(links.entries == [nil, "</a.css>", "</a.css>"])
    #expect(request.response?.statusCode == 200)
    let told = recorder.names.filter { $0.hasPrefix("informational") || $0 == "·redirect" || $0 == "·response" }
    #expect(
      told == ["informational(102)", "informational(103)", "·redirect", "informational(103)", "·response"])
  }

  @Test("Every closure is called for its event, in order, on the monitor's queue")
  func closures() async throws {
    let key = DispatchSpecificKey<Bool>()
    let queue = DispatchQueue(label: "monitor")
    queue.setSpecific(key: key, value: true)
    let names = Journal<String>()
    let note: @Sendable (String) -> Void = { name in
      #expect(DispatchQueue.getSpecific(key: key) == true)
      names.append(name)
    }
    let monitor = ClosureEventMonitor(queue: queue)
    monitor.sessionDidBecomeInvalidWithError = { _, _ in note("invalid") }
    monitor.taskDidSendBodyData = { _, _, _, _, _ in note("sent") }
    monitor.taskWillPerformHTTPRedirection = { _, _, _, _ in note("redirect") }
    monitor.taskDidFinishCollectingMetrics = { _, _, _ in note("metrics") }
    monitor.taskDidComplete = { _, _, _ in note("complete") }
    monitor.dataTaskDidReceiveResponse = { _, _, _ in note("response") }
    monitor.dataTaskDidReceiveData = { _, _, _ in note("data") }
    monitor.requestDidCreateInitialURLRequest = { _, _ in note("createInitial") }
    monitor.requestDidFailToCreateURLRequestWithError = { _, _ in note("failToCreate") }
    monitor.requestDidAdaptInitialRequestToAdaptedRequest = { _, _, _ in note("adapt") }
    monitor.requestDidFailToAdaptURLRequestWithError = { _, _, _ in note("failToAdapt") }
    monitor.requestDidCreateURLRequest = { _, _ in note("create") }
    monitor.requestDidCreateTask = { _, _ in note("createTask") }
    monitor.requestDidGatherMetrics = { _, _ in note("gatherMetrics") }
    monitor.requestDidCompleteTaskWithError = { _, _, _ in note("completeTask") }
    monitor.requestIsRetrying = { _ in note("retrying") }
    monitor.requestDidFinish = { _ in note("finish") }
    monitor.requestDidResume = { _ in note("resume") }
    monitor.requestDidResumeTask = { _, _ in note("resumeTask") }
    monitor.requestDidSuspend = { _ in note("suspend") }
    monitor.requestDidSuspendTask = { _, _ in note("suspendTask") }
    monitor.requestDidCancel = { _ in note("cancel") }
    monitor.requestDidCancelTask = { _, _ in note("cancelTask") }
    monitor.requestDidValidateRequestResponseDataWithResult = { _, _, _, _, _ in note("validate") }
    monitor.requestDidParseResponse = { _, _ in note("parse") }
    let server = try answeringInTurn(
      response("302 Found", ["Location: /next"]), response("503 Busy"), okResponse("x"))
    let hole = try BlackHole()
    let session = Session(eventMonitors: [monitor])
    let retrier = Retrier { $3($0.retryCount == 0 ? .retry : .doNotRetry) }
    var urlRequest = try URLRequest(url: server.url, method: .put)
    urlRequest.httpBody = Data("body".utf8)
    let interceptor = Interceptor(adapter: Adapter { $2(.success($0)) }, retrier: retrier)
    let request = session.request(urlRequest, interceptor: interceptor)
      .validate(statusCode: 200..<300)
    _ = await request.plainResponse()
    await names.wait(for: "parse")
    let attempt = ["createInitial", "adapt", "create", "createTask", "resumeTask"]
    let end = ["response", "metrics", "gatherMetrics", "complete", "validate", "completeTask"]
    let seen = names.entries.filter { $0 != "sent" }
    #expect(
      seen == ["resume"] + attempt + ["redirect"] + end + ["retrying"] + attempt + ["response", "data"]
        + end.dropFirst() + ["finish", "parse"])
    #expect(names.entries.contains("sent"))

    _ = await session.request("").plainResponse()
    _ = await session.request(server.url, interceptor: Adapter { $2(.failure(SampleError())) }).plainResponse()
    let other = session.request(hole.url).resume()
    await names.wait { $0.count { $0 == "resumeTask" } == 3 }
    other.suspend()
    await names.wait(for: "suspendTask")
    other.cancel()
    await names.wait(for: "cancelTask")
    session.invalidateAndCancel()
    await names.wait(for: "invalid")
    for name in ["failToCreate", "failToAdapt", "suspend", "cancel"] {
      #expect(names.count(of: name) == 1, "\(name)")
    }
  }

  @Test("A closure can be set and taken away at any time")
  func closuresChange() async throws {
    let server = try answering(okResponse("x"))
    let queue = DispatchQueue(label: "monitor")
    let monitor = ClosureEventMonitor(queue: queue)
    let session = Session(eventMonitors: [monitor])
    let calls = Journal<Int>()
    func request() async {
      _ = await session.request(server.url).plainResponse()
      await session.loopTurn()
      queue.sync {}
    }
    await request()
    monitor.requestDidFinish = { _ in calls.append(1) }
    await request()
    monitor.requestDidFinish = nil
    await request()
    monitor.requestDidParseResponse = { _, _ in calls.append(2) }
    await request()
    #expect(calls.entries == [1, 2])
  }

  @Test("A monitor whose queue stands still delays no request")
  func slowMonitor() async throws {
    let queue = DispatchQueue(label: "stuck")
    queue.suspend()
    let monitor = ClosureEventMonitor(queue: queue)
    let calls = Journal<Int>()
    monitor.requestDidFinish = { _ in calls.append(1) }
    let server = try answering(okResponse("x"))
    let session = Session(eventMonitors: [monitor])
    for _ in 0..<20 { #expect(await session.request(server.url).serializingString().response.value == "x") }
    #expect(calls.entries.isEmpty)
    queue.resume()
    await calls.wait { $0.count == 20 }
  }

  // MARK: Lines

  @Test("A log has a line per event, and no secret in any")
  func log() async throws {
    let lines = Journal<String>()
    let monitor = LoggingEventMonitor { lines.append($0) }
    let server = try answeringInTurn(
      response("302 Found", ["Location: /next?token=QUERYSECRET", "Set-Cookie: a=COOKIESECRET"]),
      response("503 Busy", body: "BODYSECRET"), response("401 No", ["WWW-Authenticate: Bearer realm=x"]))
    let session = Session(
      interceptor: Interceptor(
        adapters: [
          Adapter { request, _, completion in
            var request = request
            request.setValue("Bearer HEADERSECRET", forHTTPHeaderField: "Authorization")
            completion(.success(request))
          }
        ], retriers: [RetryPolicy(exponentialBackoffScale: 0)]), eventMonitors: [monitor])
    let url = "http://user:USERSECRET@127.0.0.1:\(server.port)/first?key=QUERYSECRET#FRAGMENTSECRET"
    let request = session.request(url, headers: ["Cookie": "a=COOKIESECRET"]).validate()
    _ = await request.serializingString().response
    await lines.wait { $0.contains { $0.contains("didSettle") } && $0.contains { $0.contains("didParse") } }
    let broken = session.request("http://user:USERSECRET@[bad/?key=QUERYSECRET")
    _ = await broken.serializingString().response
    let hole = try BlackHole()
    hole.stop()
    let refused = session.request("http://user:USERSECRET@127.0.0.1:\(hole.port)/?key=QUERYSECRET", method: .post)
    _ = await refused.serializingString().response
    await lines.wait { $0.count { $0.contains("didSettle") } == 3 }
    for line in lines.entries {
      #expect(!line.contains("SECRET"), "\(line)")
      #expect(!line.contains { $0.isNewline })
    }
    for word in [
      "request.didCreateInitialURLRequest", "request.didAdaptUsing", "request.didCreateTask", "request.willRetry",
      "session.willPerformHTTPRedirection", "request.didValidate", "request.didEndAttempt", "request.didDenyRetry",
      "request.didFailToCreateURLRequest", "request.didCompleteTask", "session.didFinishCollecting",
      "session.connection", "request.didSettle",
    ] { #expect(lines.entries.contains { $0.hasPrefix(word) }, "\(word)") }
    let id = String(request.id.uuidString.prefix(8))
    #expect(lines.entries.contains { $0.contains(id) && $0.contains("GET http://127.0.0.1:\(server.port)/first?…") })
  }

  // MARK: Notifications

  @Test("Notifications carry their request, with the names that Request has for them")
  func notifications() async throws {
    let posted = Journal<String>()
    let wanted: [(Notification.Name, String)] = [
      (Request.didResumeNotification, "didResume"), (Request.didSuspendNotification, "didSuspend"),
      (Request.didCancelNotification, "didCancel"), (Request.didFinishNotification, "didFinish"),
      (Request.didResumeTaskNotification, "didResumeTask"), (Request.didSuspendTaskNotification, "didSuspendTask"),
      (Request.didCancelTaskNotification, "didCancelTask"), (Request.didCompleteTaskNotification, "didCompleteTask"),
    ]
    let hole = try BlackHole()
    let session = Session(startRequestsImmediately: false)
    let request = session.request(hole.url).eventMonitor(WeirNotifications())
    let observers = wanted.map { name, short in
      #expect(name.rawValue == "weir.notification.name.request.\(short)")
      return Observer(
        NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { notification in
          if notification.request === request { posted.append(short) }
        })
    }
    request.resume()
    await posted.wait(for: "didResumeTask")
    request.suspend()
    await posted.wait(for: "didSuspendTask")
    request.cancel()
    await posted.wait(for: "didFinish")
    #expect(
      posted.entries == [
        "didResume", "didResumeTask", "didSuspend", "didSuspendTask", "didCancel", "didCancelTask", "didCompleteTask",
        "didFinish",
      ])
    withExtendedLifetime(observers) {}
    let silent = session.request(hole.url).resume()
    silent.cancel()
    await silent.settled()
    #expect(posted.entries.count == 8, "without the monitor nothing is posted")
  }

  /// Ends its observation when it goes.
  private final class Observer {
    private let token: any NSObjectProtocol

    init(_ token: any NSObjectProtocol) { self.token = token }

    deinit { NotificationCenter.default.removeObserver(token) }
  }
}

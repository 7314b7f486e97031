import Dispatch
import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// What tasks and requests say of themselves, and when.
@Suite("States of tasks", .slow, .timeLimit(.minutes(5)))
struct TaskStateTests {
  @Test("Suspending a request whose task has not begun tells of it, and resuming goes on")
  func suspendReady() async throws {
    let server = try answering(okResponse("1"))
    let recorder = EventRecorder()
    let session = Session(startRequestsImmediately: false, requestSetup: .eager, eventMonitors: [recorder])
    let request = session.request(server.url)
    await recorder.events.wait(for: "createTask")
    request.suspend()
    await recorder.events.wait(for: "suspendTask")
    let task = request.serializingString()
    request.resume()
    #expect(await task.response.value == "1")
    #expect(
      recorder.names.prefix(7) == ["createInitial", "create", "createTask", "suspend", "suspendTask"] + [
        "resume", "resumeTask",
      ])
    #expect(recorder.violations.entries == [])
  }

  @Test("A request without handlers is finished when requestDidFinish says so")
  func finished() async throws {
    let server = try answering(okResponse("1"))
    let states = Journal<String>()
    let slot = RequestSlot()
    let recorder = EventRecorder { name in
      if name == "finish", let request = slot.request { states.append("\(request.state)") }
    }
    let session = Session(startRequestsImmediately: false, eventMonitors: [recorder])
    let request = session.request(server.url)
    slot.request = request
    request.resume()
    await request.settled()
    #expect(states.entries == ["finished"])
    let cancelled = session.request(server.url)
    slot.request = cancelled
    cancelled.cancel()
    await cancelled.settled()
    #expect(states.entries == ["finished", "cancelled"])
  }

  @Test("A request that a handler comes to while it says that it finished serves it")
  func handlerAtTheEnd() async throws {
    let server = try answering(okResponse("1"))
    let slot = RequestSlot()
    let values = Journal<String>()
    let recorder = EventRecorder { name in
      if name == "finish" { slot.request?.responseString { values.append($0.value ?? "-") } }
    }
    let session = Session(startRequestsImmediately: false, eventMonitors: [recorder])
    let request = session.request(server.url)
    slot.request = request
    request.resume()
    await values.wait { !$0.isEmpty }
    await request.settled()
    await session.loopTurn()
    #expect(values.entries == ["1"])
    #expect(request.isFinished)
    slot.request = nil
  }

  /// Suspends the task when its redirect is told of.
  private final class SuspendsAtRedirect: InlineEventMonitor {
    func urlSession(
      _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest
    ) {
      task.suspend()
    }
  }

  @Test("A task that is suspended while its redirect's body is given up goes on with the next hop when it is resumed")
  func suspendBetweenHops() async throws {
    let server = try ScriptedServer(
      Script(.request, .send("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 10\r\n\r\n"), .awaitClose),
      Script(.request, .send(okResponse("next"))))
    let session = Session(eventMonitors: [SuspendsAtRedirect()])
    let request = session.request(server.url)
    let value = request.serializingString()
    while server.closedByClientCount == 0 { await session.loopTurn() }
    await session.loopTurn()
    request.task?.resume()
    #expect(await value.response.value == "next")
  }

  @Test("Suspending while validators run leaves the completed task as it is")
  func suspendWhileValidating() async throws {
    let server = try answering(okResponse("1"))
    let (gate, validating) = (Gate(), Latch())
    let recorder = EventRecorder()
    let session = Session(rootQueue: DispatchQueue(label: "root"), eventMonitors: [recorder])
    let request = session.request(server.url).validate { _, _, _ in
      validating.open()
      gate.wait()
      return .success(())
    }
    let task = request.serializingString()
    await validating.wait()
    request.suspend()
    await recorder.events.wait(for: "suspend")
    request.resume()
    await recorder.events.wait { $0.count { $0 == "resume" } == 2 }
    request.suspend()
    await recorder.events.wait { $0.count { $0 == "suspend" } == 2 }
    #expect(request.task?.state == .completed)
    gate.open()
    #expect(await task.response.value == "1")
    #expect(request.task?.state == .completed)
    #expect(!recorder.names.contains("suspendTask"))
    #expect(recorder.names.count { $0 == "resumeTask" } == 1)
    #expect(recorder.names.count { $0.hasPrefix("completeTask") } == 1)
  }

  @Test("Cancelling while validators run of a request that was suspended meanwhile completes its task once")
  func cancelSuspendedWhileValidating() async throws {
    let server = try answering(okResponse("1"))
    let (gate, validating) = (Gate(), Latch())
    defer { gate.open() }
    let recorder = EventRecorder()
    let session = Session(rootQueue: DispatchQueue(label: "root"), eventMonitors: [recorder])
    let request = session.request(server.url).validate { _, _, _ in
      validating.open()
      gate.wait()
      return .success(())
    }
    let task = request.serializingString()
    await validating.wait()
    request.suspend()
    request.cancel()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    #expect(recorder.names.count { $0.hasPrefix("completeTask") } == 1)
    #expect(recorder.names.count { $0 == "gatherMetrics" } == 1)
  }

  // MARK: Waiting for a slot

  /// One connection at a time, and so many seconds to wait for it.
  private static func narrow(_ seconds: TimeInterval, _ monitors: [any EventMonitor] = []) -> Session {
    var configuration = SessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = 1
    configuration.admissionTimeout = seconds
    return Session(configuration: configuration, eventMonitors: monitors)
  }

  @Test("A suspended request does not wait for a slot: no admission timeout reaches it")
  func suspendedInTheQueue() async throws {
    let server = try ScriptedServer(Script(.awaitClose), .answering(okResponse("1")))
    let recorder = EventRecorder("second ")
    let session = Self.narrow(1.5)
    let first = session.request(server.url)
    let holding = first.serializingString()
    try await eventually("the first has the slot") { server.connectionCount == 1 }
    let second = session.request(server.url).eventMonitor(recorder)
    let waiting = second.serializingString()
    await recorder.events.wait(for: "second resumeTask")
    second.suspend()
    await recorder.events.wait(for: "second suspendTask")
    let third = await session.request(server.url).serializingString().response
    guard case .requestRejected(.admissionTimeout)? = third.error else {
      Issue.record("the third did not time out")
      return
    }
    #expect(second.outcome == nil)
    #expect(second.task?.state == .suspended)
    first.cancel()
    _ = await holding.response
    second.resume()
    #expect(await waiting.response.value == "1")
    #expect(second.outcome == .success)
    #expect(recorder.names.count { $0 == "second resumeTask" } == 2)
    #expect(recorder.violations.entries == [])
  }

  @Test("A request that was cancelled in the queue has no admission timeout")
  func cancelledInTheQueue() async throws {
    let hole = try BlackHole()
    let recorder = EventRecorder()
    let session = Self.narrow(1)
    let holding = session.request(hole.url).serializingString()
    try await eventually("the first has the slot") { hole.connectionCount == 1 }
    let second = session.request(hole.url).eventMonitor(recorder)
    let waiting = second.serializingString()
    await recorder.events.wait(for: "resumeTask")
    // The loop is busy until the timer is due, and hears of cancelling after that.
    let gate = Gate()
    session.withAllRequests { _ in gate.wait() }
    second.cancel()
    let due = ContinuousClock.now + .milliseconds(1200)
    try await eventually("the timer is due") { ContinuousClock.now > due }
    gate.open()
    #expect(await waiting.response.error?.isExplicitlyCancelledError == true)
    #expect(recorder.names.contains("completeTask(cancelled)"))
    #expect(!recorder.names.contains { $0.contains("admission") })
    withExtendedLifetime(holding) {}
  }
}

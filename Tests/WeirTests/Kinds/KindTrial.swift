import Foundation
import FoundationNetworking
import Synchronization
import WeirIO
import WeirTestSupport

@testable import Weir

/// One request of some kind, from its making until nothing is left of it.
final class KindTrial: Sendable {
  /// What its handler got.
  struct Ending: Sendable {
    var error: WeirError?
    var body: Data?
    var fileURL: URL?
    var resumeData: Data?

    var label: String { error?.label ?? KindPlan.success }
  }

  private struct Live {
    var session: Session?
    var request: Request?
    var eventsLeft: Int
    /// Whether there was interference before it settled.
    var isDisturbed = false
  }

  let plan: KindPlan
  private let server: KindServer
  private let home: Session?
  private let room: KindRoom
  private let endings = Journal<Ending>()
  private let events = Journal<String>()
  private let live: Mutex<Live>

  /// - Parameter shared: a session that others use too, and where its downloads are; nil: one of its own.
  init(_ plan: KindPlan, _ server: KindServer, by shared: (Session, KindRoom)? = nil) throws {
    self.plan = plan
    self.server = server
    home = shared?.0
    room = try KindRoom(sharing: shared?.1.partialDirectory)
    live = Mutex(Live(eventsLeft: plan.event))
  }

  /// What is wrong with how it went; and what happened.
  func run() async throws -> (wrong: [String], events: [String]) {
    let recorder = EventRecorder(into: events, notingAttempts: true) { [weak self] _ in self?.happened() }
    let observed = start(recorder)
    do {
      try await eventually("its handler is called", within: 20) { !endings.entries.isEmpty }
      try await eventually("it settles", within: 20) { isSettled }
      var wrong = judge(endings.entries[0]) + recorder.violations.entries
      live.withLock { live in
        live.session = nil
        live.request = nil
      }
      try await eventually("nothing is left of it", within: 20) { observed.isGone }
      wrong += try await judgeRoom(endings.entries[0])
      if endings.entries.count != 1 { wrong.append("its handler was called \(endings.entries.count) times") }
      return (wrong, events.entries)
    } catch {
      return (["\(error); handler \(endings.entries.map(\.label)); left \(observed.left) \(room.left)"], events.entries)
    }
  }

  private var isSettled: Bool { events.entries.contains { $0.hasPrefix("settle") } }

  // MARK: The beginning

  private struct Observed {
    weak var session: Session?
    weak var request: Request?

    var isGone: Bool { session == nil && request == nil }
    var left: String { (session == nil ? "" : "session ") + (request == nil ? "" : "request") }
  }

  private func start(_ recorder: EventRecorder) -> Observed {
    let session = home ?? makeSession(recorder)
    let request = plan.kind.make(plan, session, server.url(of: plan), room) { [endings] in endings.append($0) }
    if home != nil { request.eventMonitor(recorder).interceptor(interceptor).deadline(plan.deadline) }
    live.withLock { live in
      live.session = session
      live.request = request
    }
    happened()
    request.resume()
    return Observed(session: home == nil ? session : nil, request: request)
  }

  private func makeSession(_ recorder: EventRecorder) -> Session {
    var configuration = SessionConfiguration.default
    configuration.downloadDirectory = room.partialDirectory
    configuration.timeoutIntervalForResource = plan.deadline
    let queue = plan.usesQueues ? DispatchQueue(label: "trial", attributes: .concurrent) : nil
    return Session(
      configuration: configuration, rootQueue: queue, startRequestsImmediately: false, requestQueue: queue,
      serializationQueue: queue, interceptor: interceptor, eventMonitors: [recorder])
  }

  /// Tries again what was busy or not let in, with a token that the first attempt has not.
  private var interceptor: Interceptor {
    let answersLater = plan.answersLater
    let token = Mutex(false)
    return Interceptor(
      adapters: [
        Adapter { urlRequest, _, completion in
          var urlRequest = urlRequest
          if token.withLock({ $0 }) { urlRequest.setValue("token", forHTTPHeaderField: "Authorization") }
          completion(.success(urlRequest))
        }
      ],
      retriers: [
        Retrier { request, _, _, completion in
          let status = request.response?.statusCode
          if status == 401 { token.withLock { $0 = true } }
          let result: RetryResult =
            request.retryCount < 2 && (status == 401 || status == 503)
            ? answersLater ? .retryWithDelay(0.000_5) : .retry : .doNotRetry
          if answersLater { DispatchQueue.global().async { completion(result) } } else { completion(result) }
        }
      ])
  }

  // MARK: Interference

  private func happened() {
    let isDue = live.withLock { live in
      live.eventsLeft -= 1
      return live.eventsLeft == -1 && live.request != nil
    }
    if isDue { interfere() }
  }

  private func interfere() {
    guard let request = live.withLock({ $0.request }), !isSettled else { return }
    if plan.interference != .none { live.withLock { $0.isDisturbed = true } }
    let loop = request.context.loop
    switch plan.interference {
    case .none, .deadline: break
    case .cancel: request.cancel()
    case .cancelElsewhere: DispatchQueue.global().async { request.cancel() }
    case .cancelProducing:
      if let download = request as? DownloadRequest {
        download.cancel(producingResumeData: true)
      } else {
        request.cancel()
      }
    case .cancelByProducing:
      if let download = request as? DownloadRequest {
        download.cancel { _ in }
      } else {
        request.cancel()
      }
    case .cancelTask: request.task?.cancel()
    case .cancelAll: session?.cancelAllRequests()
    case .suspend:
      request.suspend()
      loop.post { request.resume() }
    case .suspendForLong:
      request.suspend()
      DispatchQueue.global().async { DispatchQueue.global().async { request.resume() } }
    case .suspendAndCancel:
      request.suspend()
      loop.post { request.cancel() }
    case .suspendTask:
      let task = request.task
      task?.suspend()
      loop.post { task?.resume() }
    case .dropSession:
      let session = live.withLock { $0.session.take() }
      withExtendedLifetime(session) {}
    case .invalidate: session?.invalidateAndCancel()
    case .finishAndInvalidate: session?.finishRequestsAndInvalidate()
    }
  }

  private var session: Session? { live.withLock { $0.session } }

  // MARK: Judgement

  private func judge(_ ending: Ending) -> [String] {
    var wrong: [String] = []
    let (request, isDisturbed) = live.withLock { ($0.request, $0.isDisturbed || plan.interference == .deadline) }
    var expected = isDisturbed ? plan.disturbed : plan.undisturbed
    // A kept connection may be one that the server is about to close after another's request; a POST goes once.
    if home != nil, plan.kind.isUpload { expected.insert("network_connection_lost") }
    if !expected.contains(ending.label) {
      wrong.append("ended with \(ending.label), not one of \(expected.sorted()): \(String(describing: ending.error))")
    }
    if let request {
      let outcome = RequestOutcome(error: ending.error, status: request.response?.statusCode)
      if request.outcome != outcome { wrong.append("outcome \(String(describing: request.outcome)), not \(outcome)") }
      if request.tasks.count != request.allMetrics.count { wrong.append("tasks without metrics") }
      if request.tasks.contains(where: { $0.state != .completed }) { wrong.append("a task is not completed") }
    }
    return wrong + judgeEvents() + judgeContent(ending)
  }

  private func judgeEvents() -> [String] {
    let events = events.entries
    func count(_ prefix: String) -> Int { events.count { $0.hasPrefix(prefix) } }
    var wrong: [String] = []
    for (start, end) in [
      ("createTask", "gatherMetrics"), ("createTask", "completeTask"), ("startAttempt", "endAttempt"),
    ]
    where count(start) != count(end) {
      wrong.append("\(count(start)) \(start), \(count(end)) \(end)")
    }
    for once in ["settle", "finish"] where count(once) != 1 { wrong.append("\(count(once)) \(once)") }
    let afterwards = events.drop { !$0.hasPrefix("settle") }.dropFirst()
      .filter { !$0.hasPrefix("parse") && $0 != "·invalid" }
    if !afterwards.isEmpty { wrong.append("after settling: \(afterwards)") }
    return wrong
  }

  private func judgeContent(_ ending: Ending) -> [String] {
    var wrong: [String] = []
    let isThere = ending.fileURL.map { FileManager.default.fileExists(atPath: $0.path) }
    if isThere == false { wrong.append("its file is not there") }
    guard ending.error == nil else { return wrong }
    let body = plan.kind.isDownload ? ending.fileURL.flatMap { try? Data(contentsOf: $0) } : ending.body ?? Data()
    let expected = plan.deliveredBefore + KindBody.bytes(plan.responseSize)
    if body.map(Array.init) != expected { wrong.append("\(body?.count ?? -1) bytes in place of \(expected.count)") }
    return wrong
  }

  /// Where others have files too, those that may be left are removed, so that in the end there is none.
  private func clear(_ ending: Ending) async throws -> [String] {
    let resumed = plan.kind == .downloadResumed && ending.error != nil ? KindRoom.partialName(plan) : nil
    let names = [ending.resumeData.flatMap(ResumeData.init)?.fileName, ending.fileURL?.lastPathComponent, resumed]
    for name in names.compactMap({ $0 }) {
      try? FileManager.default.removeItem(atPath: "\(room.partialDirectory)/\(name)")
    }
    try await eventually("its form is gone") { KindRoom.names(room.formDirectory).isEmpty }
    return []
  }

  /// What is left of files.
  private func judgeRoom(_ ending: Ending) async throws -> [String] {
    if home != nil { return try await clear(ending) }
    var allowed: [Set<String>] = [[]]
    if let name = ending.resumeData.flatMap(ResumeData.init)?.fileName {
      allowed = [[name]]
    } else if plan.kind == .downloadResumed, ending.error != nil {
      // Of one that was not gone on with the file stays, as the data it was begun with serve again.
      allowed.append([KindRoom.partialName(plan)])
    }
    if let file = ending.fileURL, plan.kind != .downloadToPlace {
      allowed = allowed.map { $0.union([file.lastPathComponent]) }
    }
    let isGiven = room.hasGiven.withLock { $0 }
    do {
      try await eventually("its files are gone") {
        allowed.contains(room.left) && !(isGiven && FileManager.default.fileExists(atPath: room.source.path))
      }
      return []
    } catch {
      return ["left \(room.left), not one of \(allowed); a file to be removed: \(isGiven)"]
    }
  }
}

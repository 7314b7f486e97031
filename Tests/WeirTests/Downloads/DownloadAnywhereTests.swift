import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

/// Whatever is done to a download, at whatever event: it settles once, and what it leaves is what it says it leaves.
@Suite("§8.3 Downloads: cancel, suspend and loss anywhere", .timeLimit(.minutes(5)))
struct DownloadAnywhereTests {
  enum Action: String, CaseIterable, Sendable {
    case cancel, cancelProducing, cancelTask, suspendAndResume, loseSession
  }

  /// Does something at the event of that number.
  private final class AtEvent: Sendable {
    private let state = Mutex<(left: Int, action: (@Sendable () -> Void)?)>((0, nil))

    func set(_ number: Int, _ action: @escaping @Sendable () -> Void) { state.withLock { $0 = (number, action) } }

    func happened() {
      let action = state.withLock { state in
        state.left -= 1
        return state.left == -1 ? state.action.take() : nil
      }
      action?()
    }
  }

  private static let body = String(repeating: "x", count: 300_000)

  @Test(arguments: Action.allCases, [true, false])
  func anywhere(_ action: Action, isCutOff: Bool) async throws {
    for number in 0..<18 {
      let server =
        try isCutOff
        ? ScriptedServer(cutOff(Self.body, after: 200_000)) : answering(okResponse(Self.body, "ETag: \"v1\"\r\n"))
      let directory = try TemporaryDirectory()
      var configuration = SessionConfiguration.default
      configuration.downloadDirectory = "\(directory.path)/partial"
      let at = AtEvent()
      let recorder = EventRecorder(notingAttempts: true) { _ in at.happened() }
      let session = Session(configuration: configuration, eventMonitors: [recorder])
      let target = URL(filePath: "\(directory.path)/file")
      let request = session.download(server.url, to: { _, _ in (target, []) })
      at.set(number) {
        switch action {
        case .cancel: request.cancel()
        case .cancelProducing: request.cancel(producingResumeData: true)
        case .cancelTask: request.task?.cancel()
        case .suspendAndResume:
          request.suspend()
          session.context.loop.post { request.resume() }
        case .loseSession: session.invalidateAndCancel()
        }
      }
      let response = await request.plainResponse()
      #expect(recorder.events.entries.count { $0.hasPrefix("settle") } == 1, "\(recorder.names)")
      #expect(recorder.violations.entries == [])
      #expect(response.resumeData == request.resumeData)
      let left = response.resumeData.flatMap(ResumeData.init).map { [$0.fileName] } ?? []
      try await eventually("what is left is what is told") {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/partial")) ?? []) == left
      }
      // A cancel waits for no worker: one may be about to take the file away again.
      let isThere = response.fileURL != nil
      try await eventually("\(action) at event \(number): the file is there, or not: \(recorder.names)") {
        FileManager.default.fileExists(atPath: target.path) == isThere
      }
      if isThere { #expect(try String(contentsOf: target, encoding: .utf8) == Self.body) }
    }
  }
}

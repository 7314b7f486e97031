import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§25 Downloads: order of events", .timeLimit(.minutes(5)))
struct DownloadEventTests {
  private static let setup = ["resume", "createInitial", "create", "createTask", "resumeTask", "startAttempt(1)"]
  private static let ended = ["·metrics", "gatherMetrics", "·complete"]

  private func events(_ rig: DownloadRig) -> [String] {
    #expect(rig.recorder.violations.entries == [])
    return rig.recorder.names
  }

  @Test func success() async throws {
    let server = try answering(okResponse("body"))
    let rig = try DownloadRig()
    _ = await rig.session.download(server.url, to: rig.to("file")).validate().serializingData().response
    #expect(
      events(rig)
        == Self.setup + ["·write", "·downloaded", "destination", "moved"] + Self.ended
        + ["validate(success)", "validate(success)", "completeTask", "endAttempt(1)", "finish", "parse"]
        + ["settle(success)"])
  }

  @Test func theMoveFails() async throws {
    let server = try answering(okResponse("body"))
    let rig = try DownloadRig()
    _ = await rig.session.download(server.url, to: rig.to("a/file")).validate().plainResponse()
    #expect(
      events(rig)
        == Self.setup + ["·write", "·downloaded", "destination", "moved(downloaded_file_move_failed)"] + Self.ended
        + ["completeTask", "endAttempt(1, downloaded_file_move_failed)", "finish"]
        + ["parse(downloaded_file_move_failed)", "settle(file_error)"])
  }

  @Test func theTransferFails() async throws {
    let server = try ScriptedServer(cutOff("0123456789", after: 4))
    let rig = try DownloadRig()
    _ = await rig.session.download(server.url).plainResponse()
    let code = URLError.Code.networkConnectionLost.rawValue
    #expect(
      events(rig)
        == Self.setup + ["·write", "·metrics", "gatherMetrics", "·complete(\(code))"]
        + ["completeTask(network_connection_lost)", "endAttempt(1, network_connection_lost)", "finish"]
        + ["parse(network_connection_lost)", "settle(transport_error)"])
  }

  @Test func resumed() async throws {
    let server = try ScriptedServer(cutOff("0123456789", after: 4), .answering(rest("0123456789", from: 4)))
    let rig = try DownloadRig()
    let first = await rig.session.download(server.url).plainResponse()
    let data = try #require(first.resumeData)
    let before = rig.recorder.names.count
    _ = await rig.session.download(resumingWith: data, to: rig.to("file")).plainResponse()
    #expect(
      Array(events(rig).dropFirst(before))
        == Self.setup + ["·resumeAt(4, 10)", "·write", "·downloaded", "destination", "moved"] + Self.ended
        + ["completeTask", "endAttempt(1)", "finish", "parse", "settle(success)"])
  }

  @Test func cancelled() async throws {
    let server = try ScriptedServer(cutOff("0123456789", after: 4, closes: false))
    let rig = try DownloadRig()
    let request = rig.session.download(server.url)
    async let response = request.plainResponse()
    await rig.recorder.events.wait(for: "·write")
    request.cancel()
    _ = await response
    #expect(
      events(rig)
        == Self.setup + ["·write", "cancel", "cancelTask", "·metrics", "gatherMetrics", "·complete(-999)"]
        + ["completeTask(cancelled)", "endAttempt(1, explicitly_cancelled)", "finish", "parse(explicitly_cancelled)"]
        + ["settle(cancelled)"])
  }

  @Test func closures() async throws {
    let server = try ScriptedServer(cutOff("0123456789", after: 4), .answering(rest("0123456789", from: 4)))
    let heard = Journal<String>()
    let monitor = ClosureEventMonitor()
    monitor.downloadTaskDidResumeAtOffset = { heard.append("resume \($2) \($3)") }
    monitor.downloadTaskDidWriteData = { heard.append("write \($2) \($3) \($4)") }
    monitor.downloadTaskDidFinishDownloadingToURL = { _, _, url in heard.append("to \(url.isFileURL)") }
    monitor.requestDidCreateDestinationURL = { heard.append("destination \($1.lastPathComponent)") }
    monitor.requestDidFinishDownloadingUsingTaskWithResult = { _, _, result in
      heard.append("finish \((try? result.get())?.lastPathComponent ?? "")")
    }
    monitor.requestDidValidateRequestResponseFileURLWithResult = { _, _, _, url, _ in
      heard.append("validate \(url?.lastPathComponent ?? "")")
    }
    monitor.requestDidParseDownloadResponse = { heard.append("parse \($1.fileURL?.lastPathComponent ?? "")") }
    let rig = try DownloadRig(monitors: [monitor])
    let first = await rig.session.download(server.url).plainResponse()
    let data = try #require(first.resumeData)
    _ = await rig.session.download(resumingWith: data, to: rig.to("file")).validate(statusCode: [206]).plainResponse()
    let expected = [
      "write 4 4 10", "parse ", "resume 4 10", "write 6 10 10", "to true", "destination file", "finish file",
      "validate file", "parse file",
    ]
    await heard.wait { $0.count >= expected.count }
    #expect(heard.entries == expected)
  }

  @Test func logged() async throws {
    let server = try answering(okResponse("body"))
    let lines = Journal<String>()
    let rig = try DownloadRig(monitors: [LoggingEventMonitor { lines.append($0) }])
    _ = await rig.session.download(server.url, to: rig.to("file")).validate().plainResponse()
    await lines.wait { $0.contains { $0.hasPrefix("request.didSettle") } }
    for word in ["didWriteData", "didFinishDownloading", "didCreateDestinationURL", "didValidate", "didParseResponse"] {
      #expect(lines.entries.contains { $0.contains(word) }, "\(word)")
    }
  }
}

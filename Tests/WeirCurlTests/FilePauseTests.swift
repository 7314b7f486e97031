import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirCurl

/// Holding an upload back while its file is read by a worker.
@Suite(.timeLimit(.minutes(5)))
struct FilePauseTests {
  @Test("What a worker brings while sending is paused goes out when it goes on", arguments: [10, 300_000])
  func arrivesWhilePaused(size: Int) async throws {
    let path = NSTemporaryDirectory() + "weir-\(UUID().uuidString)"
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    #expect(FileManager.default.createFile(atPath: path, contents: Data(bytes)))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let server = try ScriptedServer(Script(.head, .bytes(size), .send(okResponse("ok")), .awaitClose))
    // The only worker is busy until the gate opens.
    let (gate, workers) = (Gate(), WorkerPool(name: "test", width: 1))
    workers.submit { gate.wait() }
    let rig = try await EngineRig(workers: workers)
    let running = await rig.start(
      TransferSpec(url: server.url, method: "PUT", body: .file(path: path, size: Int64(size))))
    #expect(await eventually { await running.onTransfer { transfer, _ in transfer.awaitsSource } == true })
    await running.onTransfer { transfer, _ in transfer.pauseSending() }
    gate.open()
    await withCheckedContinuation { continuation in workers.submit { continuation.resume() } }
    // What has arrived, and the turns of the loop in which it could be sent.
    for _ in 0..<20 { await rig.onEngine { _ in } }
    #expect(await running.onTransfer { transfer, _ in transfer.report().bytesSent } == 0)
    #expect(!running.isFinished)
    await running.onTransfer { transfer, _ in transfer.resumeSending() }
    #expect(await running.outcome.error == nil)
    #expect(server.received().suffix(size).elementsEqual(bytes))
    await rig.close()
  }
}

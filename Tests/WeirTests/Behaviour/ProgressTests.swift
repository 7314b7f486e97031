import Dispatch
import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirCompression
import WeirTestSupport

/// The progress of a transfer, as objects and closures show it.
@Suite("§6.4 Progress", .timeLimit(.minutes(5)))
struct ProgressTests {
  struct Body: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let fields: String
    let bytes: [UInt8]
    /// What progress has as its total.
    let total: Int64

    static let text = String(repeating: "weir", count: 60_000)

    static let all: [Body] = {
      let plain = Array(text.utf8)
      let coded = (try? Compression.deflate(plain, .gzip)) ?? []
      return [
        Body(
          testDescription: "Content-Length", fields: "Content-Length: \(plain.count)", bytes: plain,
          total: Int64(plain.count)),
        Body(testDescription: "to the end", fields: "Connection: close", bytes: plain, total: -1),
        Body(
          testDescription: "gzip", fields: "Content-Encoding: gzip\r\nContent-Length: \(coded.count)", bytes: coded,
          total: -1),
      ]
    }()
  }

  @Test("Closures get one object each time: decoded bytes, of the Content-Length or of -1", arguments: Body.all)
  func download(_ body: Body) async throws {
    let server = try ScriptedServer(
      Script(.request, .send(Array("HTTP/1.1 200 OK\r\n\(body.fields)\r\n\r\n".utf8) + body.bytes)))
    let session = Session()
    let calls = Journal<Progress>()
    let totals = Journal<Int64>()
    let request = session.request(server.url).downloadProgress {
      calls.append($0)
      totals.append($0.totalUnitCount)
    }
    #expect(request.downloadProgress.totalUnitCount == 0)
    #expect(await request.serializingString().response.value == Body.text)
    await calls.wait { $0.last?.completedUnitCount == Int64(Body.text.utf8.count) }
    #expect(calls.entries.allSatisfy { $0 === request.downloadProgress })
    #expect(Set(totals.entries) == [body.total])
  }

  @Test("The closures can be asked for, each with its queue: the last one set, until the request settles")
  func handlers() async throws {
    let server = try answering(okResponse("x"))
    let session = Session()
    let request = session.request(server.url)
    #expect(request.uploadProgressHandler == nil)
    #expect(request.downloadProgressHandler == nil)
    let (queue, calls) = (DispatchQueue(label: "mine"), Journal<String>())
    request.uploadProgress(queue: queue) { _ in calls.append("upload") }
    request.downloadProgress { _ in calls.append("replaced") }
    request.downloadProgress { _ in calls.append("download") }
    let upload = try #require(request.uploadProgressHandler)
    let download = try #require(request.downloadProgressHandler)
    #expect(upload.queue === queue)
    #expect(download.queue === request.underlyingQueue)
    upload.handler(request.uploadProgress)
    download.handler(request.downloadProgress)
    #expect(calls.entries == ["upload", "download"])
    _ = await request.plainResponse()
    #expect(request.uploadProgressHandler == nil)
    #expect(request.downloadProgressHandler == nil)
  }
}

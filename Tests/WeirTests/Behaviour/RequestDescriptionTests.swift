import Dispatch
import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// What a request says of itself in words.
@Suite("§6.5 Descriptions of requests", .timeLimit(.minutes(5)))
struct RequestDescriptionTests {
  @Test("The method and URL as soon as there is a URL request, the status as soon as there is one")
  func description() async throws {
    let server = try answering(response("404 Not Found"))
    let seen = Journal<String>()
    let slot = RequestSlot()
    let recorder = EventRecorder { name in
      if name == "createInitial" || name == "·response" { seen.append(slot.request?.description ?? "-") }
    }
    let session = Session(startRequestsImmediately: false, eventMonitors: [recorder])
    let request = session.request("http://me:secret@127.0.0.1:\(server.port)/", method: .delete)
    slot.request = request
    #expect(request.description == "No request created yet.")
    _ = await request.resume().plainResponse()
    let line = "DELETE http://<redacted>@127.0.0.1:\(server.port)/"
    #expect(seen.entries == [line, "\(line) (404)"])
    slot.request = nil
  }

  // MARK: Command lines

  private static let secret: HTTPHeaders = ["Authorization": "Bearer secret"]

  @Test("A command line is told once, of the adapted request and without secrets; at once where there is one")
  func commandLine() async throws {
    let server = try answering(okResponse("x"))
    let session = Session(
      startRequestsImmediately: false,
      interceptor: Adapter { request, _, completion in
        var request = request
        request.setValue("1", forHTTPHeaderField: "X-Adapted")
        completion(.success(request))
      })
    let key = DispatchSpecificKey<String>()
    let queue = DispatchQueue(label: "mine")
    queue.setSpecific(key: key, value: "mine")
    let (mine, own) = (Journal<String>(), Journal<String>())
    let request = session.request(server.url, headers: Self.secret)
      .cURLDescription(on: queue) { mine.append("\(DispatchQueue.getSpecific(key: key) ?? "-") \($0)") }
      .cURLDescription { own.append($0) }
    await session.loopTurn()
    #expect(own.entries == [])
    _ = await request.resume().plainResponse()
    let text = request.cURLDescription()
    #expect(text.contains("-H 'X-Adapted: 1'") && text.contains("-H 'Authorization: <redacted>'"))
    await mine.wait { !$0.isEmpty }
    #expect(mine.entries == ["mine \(text)"])
    #expect(own.entries == [text])
    request.cURLDescription(on: queue) { mine.append("late \($0)") }
    await mine.wait { $0.count == 2 }
    #expect(mine.entries.last == "late \(text)")
  }

  @Test("It is told once of a request that is tried again")
  func commandLineOfARetry() async throws {
    let server = try answeringInTurn(response("503 Busy"), okResponse("x"))
    let calls = Journal<String>()
    let session = Session(interceptor: RetryPolicy(exponentialBackoffScale: 0))
    let request = session.request(server.url).validate().cURLDescription { calls.append($0) }
    #expect(await request.plainResponse().error == nil)
    #expect(request.retryCount == 1)
    #expect(calls.entries == [request.cURLDescription()])
  }

  enum Failure: CaseIterable {
    case creation, adaptation, body, cancelled
  }

  @Test("It is told when the request can't be made, of what there is of it", arguments: Failure.allCases)
  func commandLineOfAFailure(_ failure: Failure) async throws {
    let url = "http://127.0.0.1:1/path"
    let failing = Adapter { $2(.failure(SampleError())) }
    let session = Session(startRequestsImmediately: false, interceptor: failure == .adaptation ? failing : nil)
    let request: DataRequest =
      failure == .body
      ? session.upload(URL(filePath: "/nonexistent/file"), to: url, headers: Self.secret)
      : session.request(failure == .creation ? "" : url, headers: Self.secret)
    let calls = Journal<String>()
    request.cURLDescription { calls.append($0) }
    if failure == .cancelled { request.cancel() }
    #expect(await request.resume().plainResponse().error != nil)
    let text = try #require(calls.entries.first)
    #expect(calls.entries.count == 1)
    if failure == .creation || failure == .cancelled {
      #expect(text == "$ curl command could not be created")
    } else {
      #expect(text.hasSuffix("'\(url)'") && text.contains("-H 'Authorization: <redacted>'"))
    }
  }
}

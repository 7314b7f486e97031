import Dispatch
import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// A process that has no descriptors left can make a session; its requests say what is missing.
@Suite("A session without descriptors", .serialized, .timeLimit(.minutes(1)))
struct SessionWithoutDescriptorsTests {
  @Test func everyRequestFails() async throws {
    let server = try answering(okResponse("1"))
    let recorder = EventRecorder()
    let retrier = Retrier { _, _, error, completion in
      Issue.record("asked about \(error)")
      completion(.retry)
    }
    let session = ThisProcess.withoutFreeDescriptors { Session(interceptor: retrier, eventMonitors: [recorder]) }
    for _ in 0..<3 {
      let response = await session.request(server.url).serializingString().response
      #expect(response.error?.urlErrorCode == .cannotLoadFromNetwork)
      #expect(response.error?.errorDescription?.contains("RLIMIT_NOFILE") == true)
    }
    let awaited = await withCheckedContinuation { continuation in
      session.request(server.url).response(queue: DispatchQueue(label: "own")) { continuation.resume(returning: $0) }
    }
    #expect(awaited.error?.urlErrorCode == .cannotLoadFromNetwork)
    #expect(server.connectionCount == 0)
    #expect(recorder.names.first == "resume")
    let another = Session()
    let other = await another.request(server.url).serializingString().response
    #expect(other.value == "1", "a session made later is whole")
  }

  @Test func itsVerbsWork() async throws {
    let session = ThisProcess.withoutFreeDescriptors { Session(startRequestsImmediately: false) }
    let request = session.request("http://h/").deadline(600)
    let task = request.serializingString()
    request.suspend()
    request.cancel()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    #expect(await session.activeRequests.isEmpty)
    session.invalidateAndCancel()
    let late = session.request("http://h/")
    let response = late.serializingString()
    late.resume()
    #expect(await response.response.error?.isSessionInvalidatedError == true)
  }
}

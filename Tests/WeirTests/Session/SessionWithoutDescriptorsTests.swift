import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// A process that has no descriptors left can make a session; its requests say what is missing.
@Suite("A session without descriptors", .serialized, .timeLimit(.minutes(5)))
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

  @Test("What finds no descriptor later is neither a failure of the destination nor its policy's")
  func withoutOneLater() async throws {
    let server = try answering(okResponse("1", "Connection: close\r\n"))
    var configuration = SessionConfiguration.default
    configuration.circuitBreaker = CircuitBreaker(minimumRequests: 1)
    configuration.destinationPolicy = try DestinationPolicy(deny: ["127.0.0.2"], otherwise: .allowed)
    configuration.resolveOverrides = [
      .init(host: "a.example", port: server.port, addresses: ["127.0.0.2", "127.0.0.1"])
    ]
    let session = Session(configuration: configuration)
    let url = "http://a.example:\(server.port)/"
    #expect(await session.request(url).serializingString().response.value == "1")
    let queue = DispatchQueue(label: "own")
    let error = ThisProcess.withoutFreeDescriptors {
      let ended = DispatchSemaphore(value: 0)
      let error = Mutex<WeirError?>(nil)
      session.request(url).response(queue: queue) { response in
        error.withLock { $0 = response.error }
        ended.signal()
      }
      #expect(ended.wait(timeout: .now() + 30) == .success)
      return error.withLock { $0 }
    }
    #expect(error?.urlErrorCode == .cannotConnectToHost)
    #expect(error?.isDestinationRefused == false)
    #expect(error?.errorDescription?.contains("RLIMIT_NOFILE") == true, "\(String(describing: error))")
    #expect(await session.request(url).serializingString().response.value == "1")
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

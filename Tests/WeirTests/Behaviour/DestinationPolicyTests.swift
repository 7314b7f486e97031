import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// Which addresses a session connects to.
@Suite("Destination policy", .timeLimit(.minutes(5)))
struct DestinationPolicyTests {
  private static func session(
    _ policy: DestinationPolicy, _ monitor: any EventMonitor, _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> Session {
    var configuration = SessionConfiguration()
    configuration.destinationPolicy = policy
    change(&configuration)
    return Session(
      configuration: configuration, interceptor: RetryPolicy(retryLimit: 3, exponentialBackoffScale: 0.001),
      eventMonitors: [monitor])
  }

  @Test("A refusal says why, and is not tried again", arguments: ["127.0.0.1", "localhost", "0x7f.1"])
  func refusal(_ host: String) async throws {
    let server = try answering(okResponse("in"))
    let recorder = RetryRecorder()
    let session = Self.session(.publicOnly, recorder)
    let request = session.request("http://\(host):\(server.port)/secret?token=x").validate()
    let error = try #require(await request.serializingData().response.error)
    #expect(error.urlErrorCode == .cannotConnectToHost)
    #expect(error.isDestinationRefused)
    #expect(error.isSessionTaskError)
    let text = error.localizedDescription
    #expect(text.contains("destinationPolicy refuses "), "\(text)")
    #expect(text.contains("as not public (loopback, "), "\(text)")
    #expect(!text.contains("token"))
    #expect(request.outcome == .transportError)
    #expect(request.retryCount == 0)
    #expect(recorder.retries.entries == [])
    #expect(recorder.denials.entries == [.policy])
    #expect(server.connectionCount == 0)
    await session.loopTurn()
  }

  @Test("A refusal opens no circuit: it says nothing of the destination")
  func refusalIsNoFailureOfTheDestination() async throws {
    let server = try answering(okResponse("in"))
    let session = Self.session(.publicOnly, RetryRecorder()) { $0.circuitBreaker = CircuitBreaker(minimumRequests: 1) }
    for _ in 0..<3 {
      let error = try #require(await session.request(server.url).serializingData().response.error)
      #expect(error.isDestinationRefused, "\(error)")
    }
  }

  @Test("A connection that fails is tried again as before")
  func failureIsNoRefusal() async throws {
    let gone = try answering(okResponse("in"))
    gone.stop()
    let recorder = RetryRecorder()
    let session = Self.session(try DestinationPolicy(allow: ["127.0.0.0/8"], otherwise: .publicOnly), recorder)
    let error = try #require(await session.request(gone.url).serializingData().response.error)
    #expect(error.urlErrorCode == .cannotConnectToHost)
    #expect(!error.isDestinationRefused)
    #expect(recorder.denials.entries == [.limit])
  }

  @Test("Each hop of a redirect is judged", arguments: ["127.0.0.1", "inner.example", "2130706433", "[::ffff:7f00:1]"])
  func redirect(_ host: String) async throws {
    let inner = try answering(okResponse("in"))
    let answer = response("302 Found", ["Location: http://\(host):\(inner.port)/admin"])
    // The door that is open has an address of its own.
    let outer = try ScriptedServer(host: 9, .answering(answer))
    let recorder = RetryRecorder()
    let policy = try DestinationPolicy(allow: ["127.0.0.9"], otherwise: .publicOnly)
    let session = Self.session(policy, recorder) {
      $0.resolveOverrides = [
        .init(host: "outer.example", port: outer.port, addresses: ["127.0.0.9"]),
        .init(host: "inner.example", port: inner.port, addresses: ["127.0.0.1"]),
      ]
    }
    let request = session.request("http://outer.example:\(outer.port)/").validate()
    let error = try #require(await request.serializingData().response.error)
    #expect(error.isDestinationRefused, "\(error)")
    #expect(outer.connectionCount == 1)
    #expect(inner.connectionCount == 0)
  }

  @Test func whatIsNoNetworkIsSaid() {
    let error = #expect(throws: DestinationPolicy.InvalidNetwork.self) {
      try DestinationPolicy(allow: ["10.0.0.0/8", "10.0.0.1/8"], otherwise: .refused)
    }
    #expect(error?.description == "'10.0.0.1/8' has bits set behind its length; the network is 10.0.0.0/8")
  }
}

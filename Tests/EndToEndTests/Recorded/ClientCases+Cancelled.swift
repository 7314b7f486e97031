import Dispatch
import Foundation
import FoundationNetworking
import Weir
import WeirTestSupport

extension ClientCase {
  /// Requests that are cancelled in each stage, and sessions that end.
  static let cancelled: [ClientCase] = beforeTheWire + onTheWire + ended

  private static let beforeTheWire = [
    ClientCase("cancelled before it is resumed", .answers(ok)) { stage in
      let request = stage.session(startsImmediately: false).request(stage.url)
      let task = request.serializingData()
      request.cancel()
      stage.note(await task.response.result)
    },
    ClientCase("cancelled while an adapter works", .answers(ok)) { stage in
      let held = HeldAnswer<Result<URLRequest, any Error>>()
      let request = stage.session(Adapter({ held.keep($2) }, name: "slow")).request(stage.url)
      let task = request.serializingData()
      try await held.wait()
      request.cancel()
      stage.note(await task.response.result)
      held.answer(.failure(URLError(.unknown)))
    },
    ClientCase("cancelled while it waits for a place", Script(.awaitClose)) { stage in
      let session = stage.session { $0.httpMaximumConnectionsPerHost = 1 }
      let first = session.request(stage.url + "first"), second = session.request(stage.url + "second")
      let task = first.serializingData()
      try await stage.events.wait(for: "connection opened")
      let waiting = second.serializingData()
      try await stage.events.wait(for: "2 didResumeTask")
      second.cancel()
      stage.note(await waiting.response.result)
      first.cancel()
      stage.note(await task.response.result)
    },
    ClientCase("rejected by a full queue", Script(.awaitClose)) { stage in
      let session = stage.session {
        $0.httpMaximumConnectionsPerHost = 1
        $0.maximumPendingRequestsPerHost = 1
      }
      let first = session.request(stage.url + "first").serializingData()
      try await stage.events.wait(for: "connection opened")
      let second = session.request(stage.url + "second").serializingData()
      try await stage.events.wait(for: "2 didResumeTask")
      stage.note(await session.request(stage.url + "third").serializingData().response.result)
      second.cancel()
      stage.note(await second.response.result)
      first.cancel()
      stage.note(await first.response.result)
    },
    ClientCase("a place that does not come in time", Script(.awaitClose)) { stage in
      let session = stage.session {
        $0.httpMaximumConnectionsPerHost = 1
        $0.admissionTimeout = 0.1
      }
      let first = session.request(stage.url + "first").serializingData()
      try await stage.events.wait(for: "connection opened")
      stage.note(await session.request(stage.url + "second").serializingData().response.result)
      first.cancel()
      stage.note(await first.response.result)
    },
  ]

  private static let headSeen = Gate(), streamSeen = Gate()
  private static let half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"

  private static let onTheWire = [
    ClientCase("cancelled before the head", Script(.head, .call { headSeen.open() }, .awaitClose)) { stage in
      let request = stage.session().request(stage.url)
      let task = request.serializingData()
      headSeen.wait()
      request.cancel()
      stage.note(await task.response.result)
    },
    ClientCase("cancelled in the body", Script(.head, .send(half), .awaitClose)) { stage in
      let request = stage.session().request(stage.url)
      let task = request.serializingData()
      try await stage.events.wait(for: "didReceiveData")
      request.cancel()
      stage.note(await task.response.result)
    },
    ClientCase("cancelled while the retrier is asked", .inTurn(busy)) { stage in
      let held = HeldAnswer<RetryResult>()
      let request = stage.session(Retrier { held.keep($3) }).request(stage.url).validate()
      let task = request.serializingData()
      try await held.wait()
      request.cancel()
      stage.note(await task.response.result)
      held.answer(.retry)
    },
    ClientCase("cancelled in the delay of a retry", .inTurn(busy)) { stage in
      let request = stage.session(Retrier { $3(.retryWithDelay(10)) }).request(stage.url).validate()
      let task = request.serializingData()
      try await stage.events.wait(for: "willRetry")
      request.cancel()
      stage.note(await task.response.result)
    },
    ClientCase("cancelled while it is serialized", .answers(ok)) { stage in
      let serializer = GatedSerializer()
      let session = stage.session(serializationQueue: DispatchQueue(label: "serialization"))
      let request = session.request(stage.url)
      let task = request.serializingResponse(using: serializer)
      serializer.entered.wait()
      request.cancel()
      try await stage.events.wait(for: "didCancel")
      serializer.gate.open()
      stage.note(await task.response.result)
    },
    ClientCase("a stream that is cancelled", Script(.head, .send(half), .awaitClose)) { stage in
      let request = stage.session().streamRequest(stage.url)
      try await stage.drain(request) { if $0.result != nil { $0.cancel() } }
    },
    ClientCase("a download that is cancelled", Script(.head, .send(half), .awaitClose)) { stage in
      let request = stage.session().download(stage.url)
      let task = request.serializingData()
      try await stage.events.wait(for: "didWriteData")
      request.cancel()
      stage.note(await task.response.result)
    },
  ]

  private static let wireSeen = Gate()

  private static let ended = [
    ClientCase("a session that is invalidated", Script(.head, .call { wireSeen.open() }, .awaitClose)) { stage in
      let session = stage.session()
      let request = session.request(stage.url)
      let task = request.serializingData()
      wireSeen.wait()
      session.invalidateAndCancel(error: URLError(.backgroundSessionWasDisconnected))
      stage.note(await task.response.result)
      stage.note(await session.request(stage.url).serializingData().response.result)
    },
    ClientCase("a session that ends after its requests", .answers(ok)) { stage in
      let session = stage.session()
      let request = session.request(stage.url)
      let task = request.serializingData()
      try await stage.events.wait(for: "didCreateTask")
      session.finishRequestsAndInvalidate()
      stage.note(await task.response.result)
    },
  ]
}

/// A serializer that waits until a test lets it go on.
private struct GatedSerializer: DataResponseSerializerProtocol {
  let entered = Gate(), gate = Gate()

  func serialize(request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?) throws -> Int {
    entered.open()
    gate.wait()
    return data?.count ?? 0
  }
}

extension ClientStage {
  /// Notes what a stream's handler gets, and returns when it has ended.
  func drain(
    _ request: DataStreamRequest,
    _ look: @escaping @Sendable (DataStreamRequest.Stream<String, Never>) -> Void = { _ in }
  ) async throws {
    let ended = Gate()
    request.responseStreamString { [self] stream in
      switch stream.event {
      case .stream(let result): note(result)
      case .complete(let completion):
        note("complete \(completion.response?.statusCode ?? 0) \(events.facts(completion.error))")
        ended.open()
      }
      look(stream)
    }
    ended.wait()
  }
}

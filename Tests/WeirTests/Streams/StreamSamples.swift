import Foundation
import FoundationNetworking
import Synchronization
import Weir
import WeirTestSupport

extension DataStreamRequest.Stream {
  /// A chunk's text, why it has none, or how the request ended.
  var note: String {
    switch event {
    case .stream(.success(let value)): "\((value as? Data).map { String(decoding: $0, as: UTF8.self) } ?? "\(value)")"
    case .stream(.failure(let error)): "failure(\((error as? WeirError)?.label ?? "?"))"
    case .complete(let completion): "complete(\(completion.error?.label ?? "success"))"
    }
  }
}

extension Journal<String> {
  /// Waits for a stream's end, and returns what there was.
  func all() async -> [String] {
    await wait { $0.contains { $0.hasPrefix("complete(") } }
    return entries
  }

  /// The chunks, joined.
  var text: String { entries.filter { !$0.hasPrefix("complete(") }.joined() }
}

extension DataStreamRequest {
  /// Adds a handler for text that notes its events.
  func noting(on queue: DispatchQueue? = nil) -> Journal<String> {
    let notes = Journal<String>()
    responseStreamString(on: queue) { notes.append($0.note) }
    return notes
  }

  /// How the request ended, once it has, from a handler of its own.
  func completion() async -> Completion {
    await withCheckedContinuation { continuation in
      responseStream { if let completion = $0.completion { continuation.resume(returning: completion) } }
    }
  }
}

/// Pieces of a body in a response without a length, each sent when its gate is open.
func pieces(_ pieces: (String, Gate?)..., then end: [Script.Step] = [.close]) -> Script {
  var steps: [Script.Step] = [.request, .send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")]
  for (piece, gate) in pieces {
    if let gate { steps.append(.wait(gate)) }
    steps.append(.send(piece))
  }
  return Script(.steps(steps + end))
}

struct TestError: Error, Equatable {
  let number: Int
}

/// A serializer made of a closure.
struct ClosureSerializer<Value: Sendable>: DataStreamSerializer {
  let body: @Sendable (Data) throws -> Value

  func serialize(_ data: Data) throws -> Value { try body(data) }
}

/// For requests whose session is of no interest: they don't keep it.
let streamSession = Session()
/// The same, for requests that are resumed when they have all their handlers.
let manualSession = Session(startRequestsImmediately: false)

import Foundation
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// The example of docs/bodies.md, run.
@Suite("Server-sent events", .timeLimit(.minutes(5)))
struct EventSourceTests {
  private typealias Event = EventSource.Event

  private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"

  private static let session = Session()

  // MARK: The parser

  /// What comes of a text, whole and in pieces of every size.
  private func expect(_ text: String, _ events: [Event], sourceLocation: SourceLocation = #_sourceLocation) {
    let bytes = Array(text.utf8)
    for size in 1...max(1, bytes.count) {
      var parser = EventParser()
      var seen: [Event] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        seen += parser.read(Data(bytes[start..<min(start + size, bytes.count)]))
      }
      #expect(seen == events, "in pieces of \(size)", sourceLocation: sourceLocation)
    }
  }

  @Test func linesEndInThreeWays() {
    for end in ["\n", "\r", "\r\n"] {
      expect("data: a\(end)data: b\(end)\(end)data: c\(end)\(end)", [Event(data: "a\nb"), Event(data: "c")])
    }
    expect("data: a\r\r\ndata: b\n\r\n", [Event(data: "a"), Event(data: "b")])
  }

  @Test func fields() {
    expect(
      "event: add\nid: 1\ndata: x\n\ndata: y\n\n",
      [
        Event(id: "1", name: "add", data: "x"), Event(id: "1", data: "y"),
      ])
    expect("data:x\ndata:  y\ndata\n\n", [Event(data: "x\n y\n")])
    expect(": comment\n:\nother: x\ndata: x: y\n\n", [Event(data: "x: y")])
    // Without data there is no event, but its id counts; half an event is none.
    expect("event: add\nid: 7\n\ndata: x\n\ndata: half\n", [Event(id: "7", data: "x")])
    expect("id: a\u{0}b\nid\ndata: x\n\n", [Event(data: "x")])
  }

  @Test func marksAndCharacters() {
    expect("\u{FEFF}data: näïve – 🐟\n\n", [Event(data: "näïve – 🐟")])
    expect("data: x\n\n\u{FEFF}data: y\n\n", [Event(data: "x")])
  }

  @Test func reconnectionTimes() {
    for (text, seconds) in [("250", 0.25), ("0", 0), ("1.5", 3), ("-1", 3), ("x", 3), ("", 3)] {
      var parser = EventParser()
      _ = parser.read(Data("retry: \(text)\n".utf8))
      #expect(parser.reconnectionTime == seconds, "\(text)")
      // It stays with the next connection, as the last id does; the rest begins anew.
      _ = parser.read(Data("id: 5\n\nid: 6\ndata: half".utf8))
      let next = EventParser(after: parser)
      #expect(next.reconnectionTime == seconds)
      #expect(next.lastID == "5")
    }
  }

  // MARK: The stream

  /// Sends events from the one after the last that the client has, so many per connection, and then half of one.
  private static func server(_ total: Int, perConnection: Int, reset: Bool = false) throws -> ScriptedServer {
    let connections = Mutex(0)
    return try ScriptedServer(
      Script(
        .dispatchHead { request in
          let last = request.split(separator: "\r\n").first { $0.lowercased().hasPrefix("last-event-id: ") }
          let first = (last.flatMap { Int($0.dropFirst(15)) } ?? 0) + 1
          guard first <= total else { return [.send("HTTP/1.1 204 No Content\r\n\r\n")] }
          let number = connections.withLock {
            $0 += 1; return $0
          }
          let events = (first..<min(first + perConnection, total + 1)).map { "id: \($0)\ndata: event \($0) ·\n\n" }
          let body = "retry: 1\n: connection \(number)\n\n" + events.joined() + "id: \(total + 9)\ndata: half"
          return [.send(head + "\r\n" + body)] + (reset && number.isMultiple(of: 2) ? [.reset] : [.close])
        }))
  }

  @Test func tenThousandEventsThroughASlowReader() async throws {
    let total = 10_000
    let server = try Self.server(total, perConnection: 700, reset: true)
    let session = Self.session
    var numbers: [Int] = []
    var completion: DataStreamRequest.Completion?
    for await event in EventSource().events(of: server.url, in: session) {
      completion = event.completion
      for one in event.value ?? [] {
        #expect(one.data == "event \(one.id) ·")
        numbers.append(Int(one.id) ?? -1)
        if numbers.count.isMultiple(of: 100) { try await letPass(0.001) }
      }
    }
    #expect(numbers == Array(1...total))
    #expect(completion?.error == nil)
    #expect(completion?.response?.statusCode == 204)
    #expect(server.connectionCount > 10)
  }

  @Test func whatIsNoStreamOfEventsIsNotRetried() async throws {
    let session = Self.session
    for answer in ["HTTP/1.1 404 Not Found\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"] {
      let server = try ScriptedServer(.answering("\(answer)Content-Length: 0\r\n\r\n"))
      var last: DataStreamRequest.Completion?
      for await event in EventSource().events(of: server.url, in: session) { last = event.completion }
      #expect(last?.error?.isResponseValidationError == true)
      #expect(server.connectionCount == 1)
    }
  }

  @Test func theRequestSaysWhatItAccepts() async throws {
    let server = try Self.server(1, perConnection: 1)
    for await _ in EventSource().events(of: server.url, in: Self.session) {}
    #expect(server.receivedText().contains("Accept: text/event-stream\r\n"))
    #expect(!server.receivedText().contains("Last-Event"))
    #expect(server.receivedText(on: 1).lowercased().contains("last-event-id: 1\r\n"))
  }

  @Test func leavingTheLoopEndsIt() async throws {
    let server = try ScriptedServer(Script(.request, .send(Self.head + "\r\ndata: x\n\n"), .awaitClose))
    for await event in EventSource().events(of: server.url, in: Self.session) where event.value?.isEmpty == false {
      break
    }
    try await eventually("the connection is closed") { server.closedByClientCount == 1 }
    #expect(server.connectionCount == 1)
  }

  @Test func theDocumentShowsIt() throws {
    let example = try PackageRoot.example("docs/bodies.md", of: "Tests/EndToEndTests/Readme/EventSource.swift")
    #expect(try PackageRoot.text(of: "docs/bodies.md").contains("```swift\n\(example)```\n"))
  }
}

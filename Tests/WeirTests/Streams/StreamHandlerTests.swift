import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

@Suite("§8.4 Streams: handlers", .slow, .timeLimit(.minutes(5)))
struct StreamHandlerTests {
  @Test("Each chunk is one event of every handler; `.complete` comes once, last")
  func chunks() async throws {
    let gates = (Gate(), Gate())
    let server = try ScriptedServer(pieces(("one", nil), ("two", gates.0), ("three", gates.1)))
    let request = manualSession.streamRequest(server.url)
    let (first, second) = (request.noting(), request.noting(on: DispatchQueue(label: "own")))
    request.resume()
    await first.wait { $0 == ["one"] }
    gates.0.open()
    await first.wait { $0.count == 2 }
    gates.1.open()
    #expect(await first.all() == ["one", "two", "three", "complete(success)"])
    #expect(await second.all() == ["one", "two", "three", "complete(success)"])
    #expect(request.isFinished)
    #expect(request.outcome == .success)
  }

  @Test("The forms of a handler: bytes, a serializer, text, decoded values")
  func forms() async throws {
    let server = try answering(okResponse(#"{"id": 7}"#))
    struct Item: Decodable, Sendable { let id: Int }
    let request = manualSession.streamRequest(server.url)
    let notes = Journal<String>()
    request.responseStream { stream in
      if let value: Data = stream.value { notes.append("data \(value.count)") }
    }
    .responseStream(using: .passthrough) { notes.append("passthrough \($0.value?.count ?? -1)") }
    .responseStream(using: .string) { notes.append("string \($0.value ?? "-")") }
    .responseStream(using: .decodable(of: Item.self)) { notes.append("item \($0.value?.id ?? -1)") }
    .responseStreamString { notes.append("text \($0.value ?? "-")") }
    .responseStreamDecodable(of: Item.self) { notes.append("decodable \($0.value?.id ?? -1)") }
    request.resume()
    await notes.wait { $0.count == 11 }
    #expect(
      notes.entries.prefix(6) == [
        "data 9", "passthrough 9", #"string {"id": 7}"#, "item 7", #"text {"id": 7}"#, "decodable 7",
      ])
    #expect(
      notes.entries.suffix(5) == ["passthrough -1", "string -", "item -1", "text -", "decodable -1"])
  }

  @Test("The makers: parameters, a URL, a URL request; all of them with headers and modifiers")
  func makers() async throws {
    let server = try answering(okResponse("x"))
    let session = Session()
    let requests = [
      session.streamRequest(server.url, parameters: ["a": "1"], headers: ["X-One": "1"]),
      session.streamRequest(
        server.url, method: .post, automaticallyCancelOnStreamError: true,
        requestModifier: { $0.setValue("2", forHTTPHeaderField: "X-Two") }),
      session.streamRequest(try URLRequest(url: server.url, method: .get)),
    ]
    for request in requests { #expect(await request.completion().error == nil) }
    #expect(requests.map(\.automaticallyCancelOnStreamError) == [false, true, false])
    let received = String(decoding: server.received() + server.received(on: 1) + server.received(on: 2), as: UTF8.self)
    #expect(received.contains("GET /?a=1 HTTP/1.1") && received.contains("X-One: 1\r\n"))
    #expect(received.contains("POST / HTTP/1.1") && received.contains("X-Two: 2\r\n"))
  }

  @Test("What stops a request before its transfer arrives as completion")
  func failedCreation() async throws {
    let notes = streamSession.streamRequest("").noting()
    #expect(await notes.all() == ["complete(invalid_url)"])
  }

  @Test("Text is UTF-8, with replacement of what is not")
  func replacement() async throws {
    var bytes = Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n".utf8)
    bytes += [0x61, 0xFF, 0xC3, 0xA4]
    let server = try ScriptedServer(Script(.request, .send(bytes), .awaitClose))
    #expect(await streamSession.streamRequest(server.url).noting().all() == ["a\u{FFFD}ä", "complete(success)"])
  }

  @Test("An empty body gives no chunk, only the end")
  func emptyBody() async throws {
    let server = try answering(response("204 No Content"))
    #expect(await streamSession.streamRequest(server.url).noting().all() == ["complete(success)"])
  }

  @Test("Completion has the last attempt's request, response, metrics and times, and no bytes are kept")
  func completionValues() async throws {
    let server = try answering(response("203 Fine", ["X-A: b"], body: "hello"))
    let completion = await streamSession.streamRequest(server.url).completion()
    #expect(completion.request?.url?.absoluteString == server.url)
    #expect(completion.response?.statusCode == 203)
    #expect(completion.response?.headers["X-A"] == "b")
    #expect(completion.metrics?.bytesDecoded == 5)
    #expect(completion.timeline.totalDuration > 0)
    #expect(completion.timeline.latency <= completion.timeline.requestDuration)
  }

  @Test("On a concurrent queue too a handler's calls don't overlap, and the end comes after all of them")
  func concurrentQueue() async throws {
    let server = try answering(okResponse(String(repeating: "0123456789", count: 40_000)))
    let request = manualSession.streamRequest(server.url)
    let under = Mutex(0)
    let notes = Journal<String>()
    for _ in 0..<3 {
      let own = Mutex(0)
      request.responseStreamString(on: .global()) { stream in
        under.withLock { $0 += 1 }
        if own.withLock({
          $0 += 1; return $0
        }) > 1 {
          notes.append("overlap")
        }
        if stream.completion != nil {
          if under.withLock({ $0 }) > 3 { notes.append("early") }
          notes.append("complete")
        } else {
          for _ in 0..<50 { sched_yield() }
        }
        own.withLock { $0 -= 1 }
        under.withLock { $0 -= 1 }
      }
    }
    let text = request.noting(on: .global())
    request.resume()
    await notes.wait { $0.count >= 3 }
    #expect(notes.entries == ["complete", "complete", "complete"])
    _ = await text.all()
    #expect(text.text == String(repeating: "0123456789", count: 40_000))
  }

  @Test("A handler added after the end gets the stored completion, and no chunk")
  func lateHandler() async throws {
    let server = try answering(okResponse("x"))
    let request = streamSession.streamRequest(server.url)
    #expect(await request.noting().all() == ["x", "complete(success)"])
    #expect(await request.noting().all() == ["complete(success)"])
    #expect(request.isFinished)
    #expect(request.tasks.count == 1)
    request.cancel()
    #expect(request.isFinished)
    let cancelled = streamSession.streamRequest(server.url)
    cancelled.cancel()
    #expect(await cancelled.noting().all() == ["complete(explicitly_cancelled)"])
    #expect(await cancelled.noting().all() == ["complete(explicitly_cancelled)"])
    #expect(cancelled.tasks.isEmpty)
  }

  @Test("Without handlers the body is read and goes nowhere")
  func noHandler() async throws {
    let server = try answering(okResponse(String(repeating: "x", count: 3_000_000)))
    let session = Session()
    let request = session.streamRequest(server.url).resume()
    await request.settled()
    #expect(request.outcome == .success)
    #expect(request.metrics?.bytesDecoded == 3_000_000)
  }

  @Test("Serializers run on the serialization queue, chunks in order, also when that is concurrent")
  func serializationQueue() async throws {
    let body = String(repeating: "0123456789", count: 30_000)
    let server = try answering(okResponse(body))
    let session = Session(serializationQueue: DispatchQueue(label: "concurrent", attributes: .concurrent))
    let under = Mutex(0)
    let overlaps = Journal<Int>()
    let text = Journal<String>()
    session.streamRequest(server.url).responseStream(
      using: ClosureSerializer { data in
        let count = under.withLock {
          $0 += 1; return $0
        }
        if count > 1 { overlaps.append(count) }
        for _ in 0..<50 { sched_yield() }
        under.withLock { $0 -= 1 }
        return String(decoding: data, as: UTF8.self)
      }
    ) { text.append($0.note) }
    #expect(await text.all().last == "complete(success)")
    #expect(text.text == body)
    #expect(overlaps.entries.isEmpty)
  }

  @Test("The head is told of before the body, whose chunks wait for the answer; `.cancel` cancels")
  func heads() async throws {
    let server = try answering(okResponse("x"))
    let session = Session()
    let held = Held<Request.ResponseDisposition>()
    let request = session.streamRequest(server.url).onHTTPResponse { _, completion in held.keep(completion) }
    let notes = request.noting()
    await held.wait()
    #expect(notes.entries.isEmpty)
    held.answer(.allow)
    #expect(await notes.all() == ["x", "complete(success)"])
    let refused = session.streamRequest(server.url).onHTTPResponse { _, completion in completion(.cancel) }
    #expect(await refused.noting().all() == ["complete(explicitly_cancelled)"])
    let statuses = Journal<Int>()
    #expect(
      await session.streamRequest(server.url).onHTTPResponse { statuses.append($0.statusCode) }.noting().all()
        == ["x", "complete(success)"])
    #expect(statuses.entries == [200])
  }
}

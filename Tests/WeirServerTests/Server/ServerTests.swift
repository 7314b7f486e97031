import Testing
import WeirIO

@testable import WeirServer

@Suite struct ServerTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  private func echoPath() throws -> ServerRig {
    try ServerRig { $0.respond(status: 200, body: Array($0.head.path.utf8)) }
  }

  @Test func answersAndKeepsTheConnection() throws {
    let client = try echoPath().client()
    for path in ["/", "/one", "/two"] {
      client.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
      let response = try #require(client.response())
      #expect(response.status == 200)
      #expect(response.body == path)
      #expect(response.fields["connection"] == nil)
      #expect(response.fields["date"]?.hasSuffix(" GMT") == true)
    }
  }

  @Test(arguments: [
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "close", false),
    ("GET / HTTP/1.0\r\n\r\n", "close", false),
    ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "keep-alive", true),
  ])
  func connectionField(request: String, field: String, isKept: Bool) throws {
    let client = try echoPath().client()
    client.send(request)
    #expect(client.response()?.fields["connection"] == field)
    if isKept {
      #expect(client.status(of: Self.get) == 200)
    } else {
      #expect(client.readToEnd() == ("", .end))
    }
  }

  @Test func pipelinedRequestsAreAnsweredInOrder() throws {
    let client = try echoPath().client()
    let paths = (0..<300).map { "/\($0)" }  // more than one turn takes
    client.send(paths.map { "GET \($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
    for path in paths { #expect(client.response()?.body == path) }
  }

  @Test func nextRequestWaitsForThePresentResponse() throws {
    let log = Events()
    let client = try ServerRig { exchange in
      log.append("begin \(exchange.head.path)")
      let bound = exchange.bound
      exchange.loop.post {
        log.append("end \(bound.value.head.path)")
        bound.value.respond(status: 200)
      }
    }.client()
    client.send(["/1", "/2", "/3"].map { "GET \($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
    for _ in 0..<3 { #expect(client.response()?.status == 200) }
    #expect(log.all == ["begin /1", "end /1", "begin /2", "end /2", "begin /3", "end /3"])
  }

  @Test func pipelinedRequestsBeforeTheEndAreAnswered() throws {
    let client = try echoPath().client()
    client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
    client.endSending()
    #expect(client.response()?.body == "/1")
    #expect(client.response()?.body == "/2")
    #expect(client.readToEnd() == ("", .end))
  }

  @Test func longPipelineIsHeldBack() async throws {
    let pending = Pending()
    let rig = try ServerRig { exchange in
      if exchange.head.path == "/first" {
        pending.append(exchange.bound)
      } else {
        exchange.respond(status: 200, body: Array(exchange.head.path.utf8))
      }
    }
    let client = try rig.client()
    client.send("GET /first HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try await pending.wait())
    let count = 4000  // some 130 KB, of which the server keeps a part and the sockets the rest
    client.send((0..<count).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
    rig.server.loop.run { pending.respondAll() }
    #expect(client.response()?.status == 200)
    for index in 0..<count {
      guard client.response()?.body == "/\(index)" else {
        Issue.record("no answer to \(index)")
        break
      }
    }
  }

  @Test(arguments: ["HEAD / HTTP/1.1", "HEAD / HTTP/1.0"])
  func headHasNoBody(line: String) throws {
    let client = try ServerRig { $0.respond(status: 200, text: "hello") }.client()
    client.send("\(line)\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(client.response(toHead: true)?.fields["content-length"] == "5")
    #expect(client.readToEnd().text == "")
  }

  @Test(arguments: [204, 304])
  func statusWithoutBody(status: Int) throws {
    let client = try ServerRig { exchange in
      exchange.respond(status: exchange.head.path == "/" ? status : 200, text: "hello")
    }.client()
    client.send(Self.get)
    let response = try #require(client.response())
    #expect(response.status == status)
    #expect(response.fields["content-length"] == nil)
    client.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(client.response()?.body == "hello")
  }

  @Test(arguments: [
    ("GET /secret\r\n\r\n", 400), ("GET /secret HTTP/1.1\r\n\r\n", 400),
    ("GET /\(String(repeating: "secret", count: 2000)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\nsecret", 413),
    ("GET / HTTP/1.1\r\nHost: a\r\nExpect: secret\r\n\r\n", 417),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "secret", count: 8000))\r\n\r\n", 431),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: secret, chunked\r\n\r\n", 501),
    ("GET /secret HTTP/3.0\r\nHost: a\r\n\r\n", 505),
  ])
  func refusalIsToldOfWithoutTheRequest(request: String, status: Int) throws {
    let rig = try echoPath()
    let client = try rig.client()
    #expect(client.status(of: request) == status)
    let events = rig.events.all
    #expect(events.count == 1)
    let event = try #require(events.first)
    #expect(event.hasPrefix("requestRefused(") && event.contains("status: \(status),"), "\(event)")
    #expect(event.contains("peer: 127.0.0.1:") && !event.contains("secret"), "\(event)")
  }

  /// The head is that of the answer to GET, in one piece and octet by octet.
  @Test(arguments: [
    (" /secret\r\n\r\n", 400), (" / HTTP/1.1\r\n\r\n", 400), (" / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n", 400),
    (" /\(String(repeating: "long", count: 30)) HTTP/1.1\r\n", 414), (" /\(String(repeating: "long", count: 40))", 414),
    (" / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n", 413),
    (" / HTTP/1.1\r\nHost: a\r\nExpect: odd\r\n\r\n", 417),
    (" / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "large", count: 60))\r\n\r\n", 431),
    (" / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "large", count: 60))", 431),
    (" / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: odd, chunked\r\n\r\n", 501),
    (" / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx", 400),
    (" / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
  ])
  func refusedHEADHasNoBody(rest: String, status: Int) throws {
    let limits = ServerLimits.with {
      $0.targetBytes = 100
      $0.headerBytes = 256
    }
    let rig = try ServerRig(limits: limits) { $0.collectBody(limit: 10) { _ in } }
    func answer(to method: String, cut: Int) throws -> String {
      let client = try rig.client()
      var bytes = Array((method + rest).utf8)[...]
      while !bytes.isEmpty {
        client.send(Array(bytes.prefix(cut)))
        bytes = bytes.dropFirst(cut)
      }
      client.endSending()
      let (text, ending) = client.readToEnd()
      #expect(ending == .end)
      return text.split(separator: "\r\n").filter { !$0.hasPrefix("Date: ") }.joined(separator: "\r\n")
    }
    for first in ["", "\r\n"] {
      for cut in [1, 3, .max] {
        let whole = try answer(to: "\(first)POST", cut: cut), head = try answer(to: "\(first)HEAD", cut: cut)
        #expect(whole.hasPrefix("HTTP/1.1 \(status) "))
        #expect(whole.hasPrefix(head) && head.hasSuffix("\r\nConnection: close"), "\(head)")
        #expect(whole.count > head.count)
      }
    }
  }

  /// The method counts even if no more than that has come.
  @Test(arguments: [("HEAD / HTTP/1.1\r\n", ""), ("HEAD", "the request took too long to arrive\n")])
  func slowHEADHasNoBody(request: String, body: String) throws {
    let client = try ServerRig(limits: .with { $0.headerTimeout = 0.1 }) { $0.respond(status: 200) }.client()
    client.send(request)
    let text = client.readToEnd().text
    #expect(text.hasPrefix("HTTP/1.1 408 Request Timeout\r\n"))
    #expect(text.hasSuffix("\r\nContent-Length: 36\r\nConnection: close\r\n\r\n\(body)"))
  }

  @Test func refusalIsReadInSpiteOfWhatFollows() throws {
    let client = try echoPath().client()
    client.send("GARBAGE\r\n" + String(repeating: "x", count: 100_000))
    let answer = client.readToEnd()
    #expect(answer.text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
    #expect(answer.text.contains("Connection: close\r\n"))
    #expect(answer.ending == .end)
  }

  @Test func halfClosedClientGetsItsAnswer() async throws {
    let log = Events()
    let client = try ServerRig { exchange in
      let bound = exchange.bound
      exchange.onAbort = {
        log.append("aborted")
        bound.value.respond(status: 200, text: "still here")
      }
    }.client()
    client.send(Self.get)
    client.endSending()
    #expect(client.response()?.body == "still here")
    #expect(client.readToEnd().ending == .end)
    #expect(log.all == ["aborted"])
  }

  @Test func leavingClientIsNoticed() async throws {
    let log = Events()
    let rig = try ServerRig { exchange in
      log.append("begun")
      let bound = exchange.bound
      exchange.onAbort = {
        log.append("aborted")
        bound.value.respond(status: 200)
        #expect(bound.value.isEnded)
      }
    }
    let client = try rig.client()
    client.send(Self.get)
    #expect(try await log.wait(for: "begun"))
    client.reset()
    #expect(try await log.wait(for: "aborted"))
    #expect(try await rig.waitForConnections { $0 == 0 })
  }

  @Test func listenerIsSharedByLoops() throws {
    let listener = try Listener(.loopback(port: 0))
    let servers = try (0..<3).map { index in
      Server(
        listener: listener, loop: try EventLoop(name: "loop \(index)"),
        handler: ClosureHandler { $0.respond(status: 200, text: "\(index)") })
    }
    for server in servers { server.start() }
    let clients = try (0..<30).map { _ in try RawClient(port: listener.address.port ?? 0) }
    for client in clients { #expect(client.status(of: Self.get) == 200) }
  }

  @Test func takenPortIsSaid() throws {
    let listener = try Listener(.loopback(port: 0))
    #expect {
      try Listener(listener.address)
    } throws: { error in
      "\(error)".contains("\(listener.address) is in use")
    }
  }

  @Test func closedListenerRefuses() throws {
    let rig = try echoPath()
    let client = try rig.client()
    #expect(client.status(of: Self.get) == 200)
    rig.server.listener.close()
    #expect(throws: Errno.connectionRefused) { try rig.client() }
    #expect(client.status(of: Self.get) == 200)
  }
}

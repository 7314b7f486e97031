import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// What becomes of redirects: on the wire, and of the request when they may not be followed.
@Suite("Redirects", .timeLimit(.minutes(5)))
struct RedirectTests {
  // MARK: Methods and bodies

  struct Rewriting: CustomTestStringConvertible, Sendable {
    let status: Int
    let method: String
    /// What the next request is; nil body: none.
    let next: String
    let keepsBody: Bool

    var testDescription: String { "\(status) to \(method)" }

    /// RFC 9110 section 15.4: only 307 and 308 keep everything.
    static let all: [Rewriting] = [301, 302, 303, 307, 308].flatMap { status in
      ["GET", "HEAD", "POST", "PUT", "QUERY"].map { method in
        let becomesGet = status == 303 ? ["POST", "PUT", "QUERY"] : status < 303 ? ["POST"] : []
        let next = becomesGet.contains(method) ? "GET" : method
        return Rewriting(
          status: status, method: method, next: next, keepsBody: next != "GET" && next != "HEAD")
      }
    }
  }

  @Test("Methods and bodies are rewritten as RFC 9110 says", arguments: Rewriting.all)
  func rewriting(_ rule: Rewriting) async throws {
    let hasBody = ["POST", "PUT", "QUERY"].contains(rule.method)
    let moved: Script.Step = .send(response("\(rule.status) Moved", ["Location: /next"]))
    let answer: Script.Step = .send(okResponse(rule.next == "HEAD" ? "" : "there"))
    let server = try ScriptedServer(
      Script(
        .head, .bytes(hasBody ? 4 : 0), moved, .head, .bytes(rule.keepsBody ? 4 : 0), answer, .awaitClose))
    var urlRequest = try URLRequest(url: server.url + "first", method: HTTPMethod(rawValue: rule.method))
    if hasBody {
      urlRequest.httpBody = Data("body".utf8)
      urlRequest.headers = [
        "Content-Type": "text/plain", "Content-Language": "en", "Content-Location": "/x", "X-Other": "stays",
      ]
    }
    let session = Session()
    let request = session.request(urlRequest)
    let response = await request.plainResponse()
    #expect(response.error == nil)
    #expect(response.response?.statusCode == 200)
    let received = server.requests()
    #expect(received.map(\.line) == ["\(rule.method) /first HTTP/1.1", "\(rule.next) /next HTTP/1.1"])
    let last = try #require(received.last)
    #expect(last.body == (rule.keepsBody ? "body" : ""))
    for name in ["Content-Type", "Content-Language", "Content-Location", "Content-Length"] {
      #expect(last.has(name) == rule.keepsBody, "\(name)")
    }
    #expect(last.has("Transfer-Encoding") == false)
    #expect(last.value(of: "X-Other") == (hasBody ? "stays" : nil))
    #expect(request.task?.originalRequest?.httpMethod == rule.method)
    #expect(request.task?.currentRequest?.httpMethod == rule.next)
    #expect(request.performedRequests.map { $0.url?.path } == ["/next"])
    #expect(request.metrics?.redirectCount == 1)
    #expect(request.tasks.count == 1, "a redirect is no attempt of its own")
  }

  @Test(
    "Other 3xx, and redirects without a usable location, are final",
    arguments: [
      response("300 Multiple", ["Location: /next"], body: "kept"), response("304 Same", ["Location: /next"]),
      response("305 Proxy", ["Location: /next"], body: "kept"), response("302 Found", [], body: "kept"),
      response("302 Found", ["Location: "], body: "kept"),
      response("302 Found", ["Location: http://[::bad/"], body: "kept"),
      response("302 Found", ["Location: /one", "Location: /other"], body: "kept"),
    ])
  func final(_ text: String) async throws {
    let server = try answering(text)
    let session = Session()
    let response = await session.request(server.url).plainResponse()
    #expect(response.error == nil)
    #expect(response.data == (text.hasSuffix("kept") ? Data("kept".utf8) : nil))
    #expect(response.metrics?.redirectCount == 0)
    #expect((300..<400).contains(response.response?.statusCode ?? 0))
    #expect(server.allRequests.count == 1)
  }

  @Test("A location that is repeated leads where one would")
  func repeatedLocation() async throws {
    let session = Session()
    let moved = response("302 Found", ["Location: /next", "Location: /next"])
    let server = try ScriptedServer(Script(.request, .send(moved), .request, .send(okResponse("there")), .awaitClose))
    #expect(await session.request(server.url).serializingString().response.value == "there")
    #expect(server.requests().last?.line == "GET /next HTTP/1.1")
  }

  // MARK: Locations

  @Test(
    "Locations are resolved against the current URL, which also lends its fragment",
    arguments: [
      ("/a/b?c=d", "/x", "http://a.test/x"), ("/a/b?c=d", "x?y", "http://a.test/a/x?y"),
      ("/a/b?c=d", "../x", "http://a.test/x"), ("/a/b?c=d", "?e", "http://a.test/a/b?e"),
      ("/a/b", "./", "http://a.test/a/"), ("/a/b", "  /x  ", "http://a.test/x"),
      ("/a/b", "//b.test/x", "http://b.test/x"),
      ("/a/b", "HTTP://b.test/x", "http://b.test/x"), ("/a/b", "http://b.test:8080", "http://b.test:8080"),
      ("/a#part", "/x", "http://a.test/x#part"), ("/a#part", "/x#own", "http://a.test/x#own"),
      ("/a#part", "http://b.test/x", "http://b.test/x#part"), ("/a#one%20two", "/x", "http://a.test/x#one%20two"),
      ("/a", "/x y/%C3%BC", "http://a.test/x%20y/%C3%BC"),
      ("/a", "/x?f[a]=b%20c", "http://a.test/x?f%5Ba%5D=b%20c"),
      ("/a", "/x?a=100%&b=%20", "http://a.test/x?a=100%25&b=%20"),
      ("/f[a]=b%20c%", "/x|{%2F}", "http://a.test/x%7C%7B%2F%7D"),
    ])
  func locations(_ start: String, _ location: String, _ target: String) async throws {
    let hosts = try Hosts(response("302 Found", ["Location: \(location)"], body: "moved"), okResponse("there"))
    let session = try hosts.session()
    let request = session.request("http://a.test\(start)")
    #expect(await request.serializingString().response.value == "there")
    let current = try #require(request.task?.currentRequest?.url?.absoluteString)
    #expect(current.lowercased() == target.lowercased())
    #expect(request.response?.url?.absoluteString == current)
    let address = try #require(URLComponents(string: target))
    let received = try #require(hosts.server.allRequests.last)
    #expect(
      received.value(of: "Host")
        == [address.host, address.port.map(String.init)].compactMap { $0 }
        .joined(separator: ":"))
    let path = address.percentEncodedPath
    #expect(received.target == (path.isEmpty ? "/" : path) + (address.percentEncodedQuery.map { "?\($0)" } ?? ""))
  }

  // MARK: Secrets

  private static let secrets: HTTPHeaders = [
    "Authorization": "Bearer secret", "Cookie": "secret=1", "Proxy-Authorization": "Basic secret", "X-Other": "stays",
  ]

  @Test(
    "Secrets stay with their origin: scheme, host and port",
    arguments: [
      ("http://a.test/next", true), ("http://A.test:80/next", true), ("http://b.test/next", false),
      ("http://a.test:8080/next", false), ("http://sub.a.test/next", false),
    ], [false, true])
  func secrets(_ place: (location: String, isSameOrigin: Bool), _ areOfTheSession: Bool) async throws {
    let hosts = try Hosts(response("307 Moved", ["Location: \(place.location)"]), okResponse("there"))
    let session = try hosts.session { if areOfTheSession { $0.headers = Self.secrets } }
    let request = session.request("http://a.test/", headers: areOfTheSession ? nil : Self.secrets)
    #expect(await request.serializingString().response.value == "there")
    let received = hosts.server.allRequests
    #expect(received.count == 2)
    for header in Self.secrets {
      #expect(received.first?.value(of: header.name) == header.value)
      let mayGo = place.isSameOrigin || header.name == "X-Other"
      #expect(received.last?.value(of: header.name) == (mayGo ? header.value : nil), "\(header.name)")
    }
  }

  @Test("Secrets that stayed behind do not come back with a redirect to the first origin")
  func secretsDoNotComeBack() async throws {
    let there = response("302 Found", ["Location: http://b.test/"])
    let back = response("302 Found", ["Location: http://a.test/end"])
    let hosts = try Hosts(there, back, okResponse("end"))
    let session = try hosts.session { $0.headers = ["Authorization": "Bearer session"] }
    let request = session.request("http://a.test/", headers: ["Cookie": "own=1"])
    #expect(await request.serializingString().response.value == "end")
    let received = hosts.server.allRequests
    #expect(received.count == 3)
    #expect(received.count { $0.has("Authorization") } == 1)
    #expect(received.count { $0.has("Cookie") } == 1)
  }

  @Test("What a handler puts into the request it answers with goes out as it is")
  func secretsOfAHandler() async throws {
    let hosts = try Hosts(response("302 Found", ["Location: http://b.test/"]), okResponse("there"))
    let session = try hosts.session { $0.headers = ["Authorization": "Bearer session"] }
    let request = session.request("http://a.test/").redirect(
      using: .modify { _, proposal, _ in
        var next = proposal
        next.headers["Authorization"] = "Bearer meant for b"
        return next
      })
    #expect(await request.serializingString().response.value == "there")
    #expect(
      hosts.server.allRequests.compactMap { $0.value(of: "Authorization") }.sorted() == [
        "Bearer meant for b", "Bearer session",
      ])
  }

  // MARK: What is refused

  @Test(
    "Redirects that may not be followed fail, typed, and connect nowhere",
    arguments: [
      ("file:///etc/passwd", URLError.Code.unsupportedURL), ("ftp://a.test/x", .unsupportedURL),
      ("data:text/plain,x", .unsupportedURL), ("javascript:alert(1)", .unsupportedURL), ("http:///x", .unsupportedURL),
    ])
  func refusedSchemes(_ location: String, _ code: URLError.Code) async throws {
    let hosts = try Hosts(response("302 Found", ["Location: \(location)"], body: "moved"), okResponse("never"))
    let session = try hosts.session()
    let request = session.request("http://a.test/")
    let response = await request.plainResponse()
    #expect(response.error?.isSessionTaskError == true)
    #expect(response.error?.urlErrorCode == code)
    #expect(response.data == nil)
    #expect(hosts.server.allRequests.count == 1)
    #expect(request.outcome == .transportError)
  }

  @Test("A scheme that is not allowed is refused also when a handler chose it")
  func refusedOfAHandler() async throws {
    let moved = response("302 Found", ["Location: /x"])
    let hosts = try Hosts(moved, moved)
    let session = try hosts.session()
    for target in ["file:///etc/passwd", "gopher://a.test/"] {
      let request = session.request("http://a.test/").redirect(
        using: .modify { _, _, _ in try? URLRequest(url: target, method: .get) })
      #expect(await request.plainResponse().error?.urlErrorCode == .unsupportedURL)
    }
  }

  @Test("A handler's request that is not valid fails typed")
  func invalidOfAHandler() async throws {
    let hosts = try Hosts(response("302 Found", ["Location: /x"]), okResponse("never"))
    let session = try hosts.session()
    let request = session.request("http://a.test/").redirect(
      using: .modify { _, proposal, _ in
        var next = proposal
        next.httpMethod = "GE T"
        return next
      })
    #expect(await request.plainResponse().error?.isSessionTaskError == true)
    #expect(hosts.server.allRequests.count == 1)
  }

  @Test("More redirects than allowed end the request; exactly as many do not", arguments: [0, 1, 3])
  func limit(_ maximum: Int) async throws {
    let server = try ScriptedServer(.answering(response("302 Found", ["Location: /again"], body: "moved")))
    var configuration = SessionConfiguration.default
    configuration.maximumRedirects = maximum
    let session = Session(configuration: configuration)
    let request = session.request(server.url)
    #expect(await request.plainResponse().error?.urlErrorCode == .httpTooManyRedirects)
    #expect(request.outcome == .limitExceeded)
    #expect(server.allRequests.count == maximum + 1)
    #expect(request.metrics?.redirectCount == maximum)
    let again: Script.Step = .steps([.head, .send(response("302 Found", ["Location: /again"]))])
    let patient = try ScriptedServer(
      Script(.steps(Array(repeating: again, count: maximum)), .head, .send(okResponse("end")), .awaitClose))
    #expect(
      await session.request(patient.url).serializingString().response.value == "end")
  }

  // MARK: Handlers

  @Test("The request's handler decides, else the session's; nil leaves the 3xx final, with its body")
  func handlers() async throws {
    let server = try ScriptedServer(
      .answering(response("302 Found", ["Location: /next"], body: "moved")))
    let asked = Journal<String>()
    func noting(_ name: String) -> Redirector {
      .modify { task, proposal, response in
        asked.append("\(name) \(task.id) \(proposal.url?.path ?? "-") \(response.statusCode)")
        return nil
      }
    }
    let session = Session(redirectHandler: noting("session"))
    let first = await session.request(server.url).serializingString().response
    #expect(first.value == "moved")
    #expect(first.response?.statusCode == 302)
    let second = await session.request(server.url).redirect(using: noting("request")).serializingString().response
    #expect(second.value == "moved")
    let third = await session.request(server.url).redirect(using: .doNotFollow).serializingString().response
    #expect(third.value == "moved")
    #expect(asked.entries == ["session 1 /next 302", "request 2 /next 302"])
    #expect(server.allRequests.count == 3)
  }

  @Test("A refused redirect is a response like any other: validated, and a failure if that says so")
  func refusedIsValidated() async throws {
    let server = try answering(response("302 Found", ["Location: /next"], body: "moved"))
    let session = Session(redirectHandler: .doNotFollow)
    let response = await session.request(server.url).validate().plainResponse()
    #expect(response.error?.responseCode == 302)
  }

  @Test("A handler may answer with any request, later, from anywhere, and only once counts", arguments: [false, true])
  func anyAnswer(_ isLate: Bool) async throws {
    let hosts = try Hosts(response("302 Found", ["Location: /next"], body: "moved"), okResponse("there"))
    let adapted = Journal<String>()
    let session = try hosts.session(
      redirectHandler: AnsweringRedirector { completion in
        var other = try? URLRequest(url: "http://b.test/other", method: .post, headers: ["X-Own": "1"])
        other?.httpBody = Data("mine".utf8)
        let answer = other
        let work: @Sendable () -> Void = {
          completion(answer)
          completion(nil)
          completion(try? URLRequest(url: "http://a.test/second", method: .get))
        }
        if isLate { DispatchQueue.global().async(execute: work) } else { work() }
      },
      interceptor: Adapter { request, _, completion in
        adapted.append(request.url?.path ?? "-")
        completion(.success(request))
      })
    let request = session.request("http://a.test/")
    #expect(await request.serializingString().response.value == "there")
    await session.loopTurn()
    let received = hosts.server.allRequests
    #expect(received.map(\.line) == ["GET / HTTP/1.1", "POST /other HTTP/1.1"])
    #expect(received.last?.body == "mine")
    #expect(received.last?.value(of: "X-Own") == "1")
    #expect(adapted.entries == ["/"], "no adapter runs for a redirect")
    #expect(request.metrics?.redirectCount == 1)
  }

  @Test("The body of a redirect is read on while a handler thinks, and the connection used again")
  func connectionIsKept() async throws {
    let held = Held<URLRequest?>()
    let server = try ScriptedServer(
      Script(
        .head, .send(response("302 Found", ["Location: /next"], body: String(repeating: "x", count: 20_000))),
        .head, .send(okResponse("there")), .awaitClose))
    let session = Session(redirectHandler: HoldingRedirector(held: held))
    let task = session.request(server.url).serializingString()
    await held.wait()
    await session.loopTurn()
    held.answer(try URLRequest(url: server.url + "next", method: .get))
    #expect(await task.response.value == "there")
    #expect(server.connectionCount == 1)
  }

  @Test("A redirect whose body is long costs a connection, not the request")
  func longBody() async throws {
    let hosts = try Hosts(
      response("302 Found", ["Location: /next"], body: String(repeating: "x", count: 300_000)), okResponse("there"))
    let session = try hosts.session()
    #expect(await session.request("http://a.test/").serializingString().response.value == "there")
  }

  @Test("The event precedes the handler; the first hop's Set-Cookie goes nowhere")
  func event() async throws {
    let hosts = try Hosts(
      response("302 Found", ["Location: /next", "Set-Cookie: a=b"], body: "moved"), okResponse("there"))
    let order = Journal<String>()
    let told = Latch()
    let monitor = ClosureEventMonitor()
    monitor.taskWillPerformHTTPRedirection = { _, _, _, _ in told.open() }
    let session = try hosts.session(
      redirectHandler: AnsweringRedirector { completion in
        order.append("handler")
        completion(try? URLRequest(url: "http://a.test/changed", method: .get))
      }, eventMonitors: [monitor, AtRedirect { order.append("event \($0.statusCode) \($1.url?.path ?? "-")") }])
    let request = session.request("http://a.test/")
    #expect(await request.serializingString().response.value == "there")
    await told.wait()
    #expect(order.entries == ["event 302 /next", "handler"])
    #expect(hosts.server.allRequests.last?.has("Cookie") == false)
    #expect(hosts.server.allRequests.last?.target == "/changed")
  }
}

/// Hears of redirects where they are decided about.
private struct AtRedirect: InlineEventMonitor {
  let note: @Sendable (HTTPURLResponse, URLRequest) -> Void

  func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) { note(response, request) }
}

/// Answers by a closure, which may do so more than once.
private struct AnsweringRedirector: RedirectHandler {
  let answer: @Sendable (@escaping @Sendable (URLRequest?) -> Void) -> Void

  func task(
    _ task: TransferTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
    completion: @escaping @Sendable (URLRequest?) -> Void
  ) {
    answer(completion)
  }
}

import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// Where a request's body begins and ends, and to whom it is addressed, is weir's to say.
@Suite("Framing", .timeLimit(.minutes(5)))
struct FramingTests {
  /// A server that answers by `Content-Length`: what a wrong one left over would be the next request.
  private func answeringByLength() throws -> ScriptedServer { try ScriptedServer(.answering { okResponse("ok") }) }

  /// Every way for a caller to set a field.
  enum Way: CaseIterable {
    case urlRequest, session, adapter, redirectHandler
  }

  private static let framing: [HTTPHeader] = [
    HTTPHeader(name: "Content-Length", value: "2"), HTTPHeader(name: "content-LENGTH", value: "2"),
    HTTPHeader(name: "Content-Length", value: "2, 6"), HTTPHeader(name: "Content-Length", value: "-1"),
    HTTPHeader(name: "Transfer-Encoding", value: "chunked"), HTTPHeader(name: "TRANSFER-encoding", value: "gzip"),
    HTTPHeader(name: "Connection", value: "close"), HTTPHeader(name: "Keep-Alive", value: "timeout=1"),
    HTTPHeader(name: "Proxy-Connection", value: "close"), HTTPHeader(name: "TE", value: "trailers"),
    HTTPHeader(name: "te", value: "gzip"), HTTPHeader(name: "Trailer", value: "X"),
    HTTPHeader(name: "Upgrade", value: "websocket"), HTTPHeader(name: "uPGRADE", value: ""),
  ]

  @Test("A caller's framing fields are dropped, from wherever they come", arguments: framing, Way.allCases)
  func dropped(_ field: HTTPHeader, _ way: Way) async throws {
    let body = "2\r\nhi\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
    let server =
      way == .redirectHandler
      ? try answeringInTurn(response("307 Moved", ["Location: /next"]), okResponse("ok")) : try answeringByLength()
    let session = framed(field, way)
    var urlRequest = try URLRequest(url: server.url, method: .post)
    if way == .urlRequest { urlRequest.headers = [field] }
    urlRequest.httpBody = Data(body.utf8)
    let answer = await session.request(urlRequest).serializingString().response
    #expect(answer.value == "ok")
    let received = server.allRequests
    #expect(received.count == (way == .redirectHandler ? 2 : 1))
    for request in received {
      #expect(request.body == body)
      let framing = request.fields.filter { $0.name.lowercased() != "content-length" }
      #expect(!framing.contains { $0.name.lowercased() == field.name.lowercased() })
      #expect(request.fields.filter { $0.name.lowercased() == "content-length" }.map(\.value) == ["\(body.utf8.count)"])
    }
  }

  private func framed(_ field: HTTPHeader, _ way: Way) -> Session {
    var configuration = SessionConfiguration.default
    if way == .session { configuration.headers.add(field) }
    let adapter = Adapter { urlRequest, _, completion in
      var urlRequest = urlRequest
      if way == .adapter { urlRequest.headers = [field] }
      completion(.success(urlRequest))
    }
    let redirector = Redirector.modify { _, urlRequest, _ in
      var urlRequest = urlRequest
      if way == .redirectHandler { urlRequest.headers = [field] }
      return urlRequest
    }
    return Session(configuration: configuration, interceptor: adapter, redirectHandler: redirector)
  }

  @Test("A name that only looks like a framing field's is refused", arguments: ["Content-Length ", "Content-Length\t"])
  func almost(_ name: String) async throws {
    let server = try answeringByLength()
    var configuration = SessionConfiguration.default
    configuration.headers.add(name: name, value: "2")
    let session = Session(configuration: configuration)
    let bySession = await session.request(server.url).plainResponse()
    #expect(bySession.error?.urlErrorCode == .badURL)
    let another = Session()
    let byRequest = await another.request(server.url, headers: [name: "2"]).plainResponse()
    #expect(byRequest.error?.isURLRequestValidationError == true)
    #expect(server.connectionCount == 0)
  }

  @Test(
    "Methods that mean a body say so when there is none",
    arguments: [
      ("POST", "0"), ("PUT", "0"), ("PATCH", "0"), ("QUERY", "0"), ("GET", nil), ("HEAD", nil), ("DELETE", nil),
      ("OPTIONS", nil),
      ("PURGE", nil),
    ], [false, true])
  func withoutBody(_ rule: (method: String, length: String?), _ hasEmptyBody: Bool) async throws {
    let server = try answering("HTTP/1.1 204 No Content\r\n\r\n")
    var urlRequest = try URLRequest(url: server.url, method: HTTPMethod(rawValue: rule.method))
    if hasEmptyBody, rule.method != "GET" { urlRequest.httpBody = Data() }
    let session = Session()
    let answer = await session.request(urlRequest).plainResponse()
    #expect(answer.error == nil)
    let received = try #require(server.allRequests.first)
    #expect(received.fields.filter { $0.name == "Content-Length" }.map(\.value) == (rule.length.map { [$0] } ?? []))
    #expect(!received.has("Transfer-Encoding"))
    #expect(!received.has("Content-Type"))
  }

  // MARK: Accept

  @Test("Anything is accepted where no rule says what is")
  func accept() async throws {
    let server = try answeringByLength()
    var silent = SessionConfiguration.default
    silent.headers = []
    var own = SessionConfiguration.default
    own.headers.add(.accept("text/plain"))
    let json: HTTPHeaders = ["aCCept": "application/json"]
    for (configuration, headers) in [(.default, nil), (silent, nil), (.default, json), (own, nil), (own, json)] {
      let session = Session(configuration: configuration)
      _ = await session.request(server.url, headers: headers).plainResponse()
    }
    let accepted = server.allRequests.map { request in
      request.fields.filter { $0.name.lowercased() == "accept" }.map(\.value)
    }
    #expect(accepted == [["*/*"], ["*/*"], ["application/json"], ["text/plain"], ["application/json"]])
  }

  // MARK: Host

  @Test("A caller's Host goes out once, as given", arguments: Way.allCases)
  func host(_ way: Way) async throws {
    let server =
      way == .redirectHandler
      ? try answeringInTurn(response("307 Moved", ["Location: /next"]), okResponse("ok")) : try answeringByLength()
    let session = framed(HTTPHeader(name: "hOST", value: "virtual.test:81"), way)
    let headers: HTTPHeaders? = way == .urlRequest ? ["hOST": "virtual.test:81"] : nil
    #expect(await session.request(server.url, headers: headers).serializingString().response.value == "ok")
    let received = try #require(server.allRequests.last)
    #expect(received.fields.filter { $0.name.lowercased() == "host" }.map(\.value) == ["virtual.test:81"])
  }

  @Test("A request's Host wins over its session's")
  func hosts() async throws {
    let server = try answeringByLength()
    let session = framed(HTTPHeader(name: "Host", value: "session.test"), .session)
    _ = await session.request(server.url, headers: ["host": "request.test"]).plainResponse()
    let received = try #require(server.allRequests.first)
    #expect(received.fields.filter { $0.name.lowercased() == "host" }.map(\.value) == ["request.test"])
  }

  @Test(
    "What is no host and port is not sent as Host",
    arguments: [
      "", " ", "a.test, b.test", "a.test,b.test", "a.test b.test", "a.test\tb", "u@a.test", "a.test/x", "a?b",
    ])
  func noHost(_ value: String) async throws {
    let server = try answeringByLength()
    let session = framed(HTTPHeader(name: "Host", value: value), .adapter)
    let answer = await session.request(server.url).plainResponse()
    #expect(answer.error?.urlErrorCode == .badURL)
    #expect(server.connectionCount == 0)
  }

  @Test(
    "A caller's Host stays with the first origin",
    arguments: [("http://a.test/next", true), ("http://b.test/next", false), ("http://a.test:8080/next", false)],
    [Way.urlRequest, .session])
  func redirectedHost(_ place: (location: String, isSameOrigin: Bool), _ way: Way) async throws {
    let hosts = try Hosts(response("307 Moved", ["Location: \(place.location)"]), okResponse("there"))
    let session = try hosts.session { if way == .session { $0.headers.add(name: "Host", value: "virtual.test") } }
    let headers: HTTPHeaders? = way == .urlRequest ? ["Host": "virtual.test"] : nil
    #expect(await session.request("http://a.test/", headers: headers).serializingString().response.value == "there")
    let received = hosts.server.allRequests
    #expect(received.map { $0.fields.count { $0.name.lowercased() == "host" } } == [1, 1])
    #expect(received.first?.value(of: "Host") == "virtual.test")
    let target = URL(string: place.location)
    let own = [target?.host(), target?.port.map(String.init)].compactMap { $0 }.joined(separator: ":")
    #expect(received.last?.value(of: "Host") == (place.isSameOrigin ? "virtual.test" : own))
  }
}

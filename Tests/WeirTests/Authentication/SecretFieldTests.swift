import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir

/// Fields with secrets, whatever their names.
@Suite("Fields that hold secrets", .timeLimit(.minutes(5))) struct SecretFieldTests {
  /// Sets two fields of its own, one of them in place of the request's.
  private final class TwoFields: Authenticator {
    func apply(_ credential: Token, to urlRequest: inout URLRequest) {
      urlRequest.setValue(credential.text, forHTTPHeaderField: "X-Key")
      urlRequest.setValue("\(credential.text)-2", forHTTPHeaderField: "X-Mine")
    }

    func refresh(
      _ credential: Token, for session: Session, completion: @escaping @Sendable (Result<Token, any Error>) -> Void
    ) { completion(.failure(SampleError())) }

    func didRequest(
      _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool { false }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool { true }
  }

  enum Way: CaseIterable, Sendable {
    case authenticator, secret, both
  }

  private static let names = ["X-Key", "X-Mine"]

  private static func interceptor(_ way: Way) -> any RequestInterceptor {
    let authentication = AuthenticationInterceptor(authenticator: TwoFields(), credential: Token(text: "key"))
    let fields = [SecretField("X-Key", "key"), SecretField("x-mine", "key-2", name: "mine")]
    return switch way {
    case .authenticator: authentication
    case .secret: Interceptor(adapters: fields)
    case .both: Interceptor(adapters: [fields[0]], interceptors: [authentication])
    }
  }

  /// A server that redirects all but `/end`.
  private static func redirecting(to location: String) throws -> ScriptedServer {
    try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            [
              .send(
                head.hasPrefix("GET /end ") ? okResponse("there") : response("302 Found", ["Location: \(location)"]))
            ]
          }
        ])))
  }

  private static func values(_ server: ScriptedServer) -> [[String?]] {
    server.allRequests.map { request in names.map { request.value(of: $0) } + [request.value(of: "X-Plain")] }
  }

  private static func request(_ url: String, _ way: Way, _ session: Session = Session()) -> DataRequest {
    session.request(url, headers: ["X-Mine": "own", "X-Plain": "stays"], interceptor: interceptor(way))
  }

  @Test("Within the origin a redirect takes them along", arguments: Way.allCases)
  func sameOrigin(way: Way) async throws {
    let server = try Self.redirecting(to: "/end")
    let session = Session()
    #expect(await Self.request(server.url, way, session).serializingString().response.value == "there")
    #expect(Self.values(server) == Array(repeating: ["key", "key-2", "stays"], count: 2))
  }

  @Test("To another origin they don't go, nor on from there, nor back", arguments: Way.allCases)
  func otherOrigin(way: Way) async throws {
    let first = try TokenService(.close)
    let back = try Self.redirecting(to: first.url)
    let other = try Self.redirecting(to: back.url)
    let server = try Self.redirecting(to: other.url)
    let session = Session()
    _ = await Self.request(server.url, way, session).serializingString().response
    #expect(Self.values(server) == [["key", "key-2", "stays"]])
    for next in [other, back, first.server] { #expect(Self.values(next) == [[nil, nil, "stays"]]) }
    let home = try Self.redirecting(to: server.url + "end")
    let away = try Self.redirecting(to: home.url)
    let returned = try Self.redirecting(to: away.url)
    #expect(await Self.request(returned.url, way, session).serializingString().response.value == "there")
    #expect(Self.values(server).last == [nil, nil, "stays"], "a server that got them before gets them no more")
  }

  @Test("A retry has them again")
  func retried() async throws {
    let other = try answering(response("503 Busy"))
    let server = try Self.redirecting(to: other.url)
    let session = Session()
    let request = Self.request(server.url, .secret, session).validate()
      .retry(using: RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0))
    #expect(await request.serializingString().response.error?.responseCode == 503)
    #expect(Self.values(server) == Array(repeating: ["key", "key-2", "stays"], count: 2))
    #expect(Self.values(other) == Array(repeating: [nil, nil, "stays"], count: 2))
  }

  @Test("A redirect handler gets the request without them; what it sets itself is sent")
  func handler() async throws {
    let other = try answering(okResponse("there"))
    let server = try Self.redirecting(to: other.url)
    let proposed = Journal<[String]>()
    let session = Session()
    let request = Self.request(server.url, .both, session).redirect(
      using: .modify { _, request, _ in
        proposed.append((request.allHTTPHeaderFields ?? [:]).keys.sorted())
        var request = request
        request.setValue("chosen", forHTTPHeaderField: "X-Key")
        return request
      })
    #expect(await request.serializingString().response.value == "there")
    #expect(proposed.entries == [["X-Plain"]])
    #expect(Self.values(other) == [["chosen", nil, "stays"]])
  }

  @Test("A session's own field of the same name stays behind too")
  func sessionField() async throws {
    let other = try answering(okResponse("there"))
    let server = try Self.redirecting(to: other.url)
    var configuration = SessionConfiguration.default
    configuration.headers.add(name: "x-key", value: "of the session")
    let session = Session(configuration: configuration)
    _ = await Self.request(server.url, .secret, session).serializingString().response
    #expect(Self.values(server) == [["key", "key-2", "stays"]])
    #expect(Self.values(other) == [[nil, nil, "stays"]])
  }

  @Test("curl commands hide them", arguments: Way.allCases)
  func curl(way: Way) async throws {
    let server = try answering(okResponse("there"))
    let session = Session()
    let request = Self.request(server.url, way, session)
    _ = await request.serializingString().response
    let text = request.cURLDescription()
    #expect(text.contains("X-Key: <redacted>") && text.lowercased().contains("x-mine: <redacted>"))
    #expect(text.contains("X-Plain: stays") && !text.contains("key-2"))
    #expect(request.cURLDescription(redactingSecrets: false).contains("X-Key: key'"))
  }

  @Test("The value is the file's at the time of each attempt, and the name in metrics can be given")
  func followed() async throws {
    let server = try answering(okResponse("there"))
    let directory = try TemporaryDirectory()
    let file = try SecretFile(directory.file("key", "first\n"))
    let key = SecretField("X-Key", Secret(file, prefix: "v1 "), name: "maps")
    #expect(key.name == "maps" && !"\(key)".contains("first"))
    let session = Session(interceptor: key)
    _ = await session.request(server.url).serializingString().response
    try directory.file("key", "the second\n")
    try await eventually("it is read again") { file.version == 2 }
    _ = await session.request(server.url).serializingString().response
    #expect(server.allRequests.map { $0.value(of: "X-Key") } == ["v1 first", "v1 the second"])
  }
}

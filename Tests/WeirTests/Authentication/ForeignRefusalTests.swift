import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir

/// Refusals of requests that carried no credential.
@Suite("§18 Refusals that are not the credential's", .timeLimit(.minutes(5)))
struct ForeignRefusalTests {
  /// Puts its token into a field of its own, and into no request for `/open`.
  private final class KeyAuthenticator: Authenticator {
    let refreshed = Journal<String>()
    /// The URLs of the requests that were refused, as the authenticator is shown them.
    let asked = Journal<URL>()
    let field: String

    init(_ field: String) { self.field = field }

    func apply(_ credential: Token, to urlRequest: inout URLRequest) {
      if urlRequest.url?.path != "/open" { urlRequest.setValue(credential.text, forHTTPHeaderField: field) }
    }

    func refresh(
      _ credential: Token, for session: Session, completion: @escaping @Sendable (Result<Token, any Error>) -> Void
    ) {
      refreshed.append(credential.text)
      completion(.success(Token(text: credential.text + "+")))
    }

    func didRequest(
      _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool {
      if let url = urlRequest.url { asked.append(url) }
      return response.statusCode == 401
    }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
      urlRequest.value(forHTTPHeaderField: field) == credential.text
    }
  }

  private static let refused = response("401 Unauthorized", body: "who?")

  /// A server that redirects `/away` to the other one, `/near` within itself, and refuses all else that has not this value.
  private static func server(_ field: String, _ value: String, away: String) throws -> ScriptedServer {
    try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            if head.hasPrefix("GET /away ") { return [.send(response("302 Found", ["Location: \(away)"]))] }
            if head.hasPrefix("GET /near ") { return [.send(response("302 Found", ["Location: /there"]))] }
            return [.send((head + "\r\n").contains("\r\n\(field): \(value)\r\n") ? okResponse("fine") : refused)]
          }
        ])))
  }

  @Test("Of another origin, to which a redirect took no credential: nothing is refreshed, and the others go on")
  func redirected() async throws {
    let other = try answering(Self.refused)
    let server = try Self.server("Authorization", "a", away: other.url)
    let authenticator = KeyAuthenticator("Authorization")
    let session = Session(
      interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: Token(text: "a")))
    for _ in 0..<6 {
      let request = session.request(server.url + "away").validate()
      #expect(await request.serializingString().response.error?.responseCode == 401)
      #expect(request.retryCount == 0)
    }
    #expect(authenticator.refreshed.entries == [])
    #expect(Set(authenticator.asked.entries.map(\.absoluteString)) == [other.url])
    #expect(other.allRequests.allSatisfy { !$0.has("Authorization") } && other.allRequests.count == 6)
    #expect(await session.answer(server.url).value == "fine", "the window of refreshes is open still")
  }

  @Test("Within the origin a redirect takes the credential along, and it is refreshed")
  func near() async throws {
    let server = try Self.server("Authorization", "a+", away: "/")
    let authenticator = KeyAuthenticator("Authorization")
    let session = Session(
      interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: Token(text: "a")))
    #expect(await session.answer(server.url + "near").value == "fine")
    #expect(authenticator.refreshed.entries == ["a"])
  }

  @Test("A redirect to another origin takes a field of any name, so its refusal says nothing of the credential")
  func ownField() async throws {
    let other = try Self.server("X-Key", "a+", away: "/")
    let server = try Self.server("X-Key", "a", away: other.url)
    let authenticator = KeyAuthenticator("X-Key")
    let session = Session(
      interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: Token(text: "a")))
    #expect(await session.answer(server.url + "away").error?.responseCode == 401)
    #expect(authenticator.refreshed.entries == [])
    #expect(other.allRequests.map { $0.has("X-Key") } == [false])
  }

  @Test("A request that the authenticator leaves alone is neither retried nor a reason to refresh")
  func leftAlone() async throws {
    let server = try answering(Self.refused)
    let authenticator = KeyAuthenticator("Authorization")
    let session = Session(
      interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: Token(text: "a")))
    #expect(await session.answer(server.url + "open").error?.responseCode == 401)
    #expect(server.allRequests.count == 1)
    #expect(authenticator.refreshed.entries == [])
  }

  @Test("A credential that was replaced while the request was away is another one, and the request goes again with it")
  func replaced() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.head, .wait(gate), .send(Self.refused), .head, .send(okResponse("fine")), .awaitClose))
    let authenticator = KeyAuthenticator("Authorization")
    let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: Token(text: "a"))
    let session = Session(interceptor: interceptor)
    async let answer = session.answer(server.url)
    try await eventually("the first is there") { server.allRequests.count == 1 }
    interceptor.credential = Token(text: "b")
    gate.open()
    #expect(await answer.value == "fine")
    #expect(server.allRequests.map { $0.value(of: "Authorization") } == ["a", "b"])
    #expect(authenticator.refreshed.entries == [])
  }
}

import Foundation
import FoundationNetworking
import Weir
import WeirTestSupport

extension ClientCase {
  /// Credentials, circuits, limits, hedges and caches beyond the simplest.
  static let controls: [ClientCase] = credentials + limits + caches

  private static let refused = "HTTP/1.1 401 No|WWW-Authenticate: Basic realm=\"a\"|Content-Length: 0||"

  private static let credentials = [
    ClientCase("a credential that is refreshed", .inTurn("HTTP/1.1 401 No|Content-Length: 0||", ok)) { stage in
      let interceptor = AuthenticationInterceptor(
        name: "tokens", authenticator: TokenAuthenticator(succeeds: true), credential: Token(number: 1))
      let request = stage.session(interceptor).request(stage.url).validate()
      stage.note(await request.serializingString().response.result)
    },
    ClientCase("a credential that can not be refreshed", .inTurn("HTTP/1.1 401 No|Content-Length: 0||")) { stage in
      let interceptor = AuthenticationInterceptor(
        name: "tokens", authenticator: TokenAuthenticator(succeeds: false), credential: Token(number: 1))
      let request = stage.session(interceptor).request(stage.url).validate()
      stage.note(await request.serializingString().response.result)
    },
    ClientCase("a challenge that is answered", .inTurn(refused, ok)) { stage in
      let request = stage.session().request(stage.url).authenticate(username: "user", password: "password")
      stage.note(await request.serializingString().response.result)
    },
    ClientCase("a challenge that is not answered", .inTurn(refused)) { stage in
      stage.note(await stage.session().request(stage.url).validate().serializingString().response.result)
    },
  ]

  private static let limits = [
    ClientCase("a circuit that closes again", .inTurn("HTTP/1.1 500 No|Content-Length: 2||no", ok, ok, ok, ok, ok)) {
      stage in
      let session = stage.session { $0.circuitBreaker = CircuitBreaker(minimumRequests: 1) }
      stage.note(await session.request(stage.url).serializingString().response.result)
      for _ in 0..<5 {
        // After half a second the next request is let through; a longer time changes nothing.
        try await letPass(0.6)
        stage.note(await session.request(stage.url).serializingString().response.result)
      }
    },
    ClientCase("load control", .answers(ok)) { stage in
      let session = stage.session { $0.overload = .default }
      stage.note(await session.request(stage.url).serializingString().response.result)
    },
    ClientCase("a hedge that is denied", Script(.head, .wait(denied), .send(WireCase.bytes(ok)), .awaitClose)) {
      stage in
      let session = stage.session { $0.httpMaximumConnectionsPerHost = 1 }
      let task = session.request(stage.url).hedge(after: .seconds(0.1)).serializingString()
      try await stage.events.wait(for: "hedge denied")
      denied.open()
      stage.note(await task.response.result)
    },
    ClientCase(
      "a hedge that loses", Script(.head, .wait(hedged), .send(WireCase.bytes(ok)), .awaitClose),
      Script(.head, .call { hedged.open() }, .awaitClose)
    ) { stage in
      let task = stage.session().request(stage.url).hedge(after: .seconds(0.2)).serializingString()
      stage.note(await task.response.result)
    },
    ClientCase("a response that is too large", .answers("HTTP/1.1 200 OK|Content-Length: 5||large")) { stage in
      let session = stage.session { $0.maximumResponseSize = 4 }
      stage.note(await session.request(stage.url).serializingString().response.result)
    },
    ClientCase("a stream that can not be sent again", .inTurn(busy)) { stage in
      let stream = InputStream(data: Data("streamed".utf8))
      let request = stage.session(retries()).upload(
        stream, to: stage.url, method: .put, headers: ["Content-Length": "8"])
      stage.note(await request.validate().serializingString().response.result)
    },
    ClientCase(
      "a head that says no", Script(.head, .send(WireCase.bytes("HTTP/1.1 200 OK|Content-Length: 2||")), .awaitClose)
    ) {
      stage in
      let request = stage.session().request(stage.url).onHTTPResponse { _, completion in completion(.cancel) }
      stage.note(await request.serializingString().response.result)
    },
  ]

  private static let denied = Gate(), hedged = Gate()

  private static let caches = [
    ClientCase(
      "a cached response that is still good",
      .inTurn(
        "HTTP/1.1 200 OK|Cache-Control: no-cache|ETag: \"a\"|Content-Length: 2||ok",
        "HTTP/1.1 304 Not Modified|ETag: \"a\"||")
    ) { stage in
      let session = stage.session { $0.urlCache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil) }
      stage.note(await session.request(stage.url).serializingString().response.result)
      stage.note(await session.request(stage.url).serializingString().response.result)
    },
    ClientCase(
      "a cached response that has changed",
      .inTurn(
        "HTTP/1.1 200 OK|Cache-Control: no-cache|ETag: \"a\"|Content-Length: 2||ok",
        "HTTP/1.1 200 OK|Cache-Control: no-cache|ETag: \"b\"|Content-Length: 3||new")
    ) { stage in
      let session = stage.session { $0.urlCache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil) }
      stage.note(await session.request(stage.url).serializingString().response.result)
      stage.note(await session.request(stage.url).serializingString().response.result)
    },
  ]
}

private struct Token: AuthenticationCredential, Sendable {
  let number: Int

  var requiresRefresh: Bool { false }
}

/// Gives the token after the one that was refused, or fails.
private final class TokenAuthenticator: Authenticator {
  private let succeeds: Bool

  init(succeeds: Bool) {
    self.succeeds = succeeds
  }

  func apply(_ credential: Token, to urlRequest: inout URLRequest) {
    urlRequest.setValue("\(credential.number)", forHTTPHeaderField: "X-Token")
  }

  func refresh(
    _ credential: Token, for session: Session, completion: @escaping @Sendable (Result<Token, any Error>) -> Void
  ) {
    completion(
      succeeds ? .success(Token(number: credential.number + 1)) : .failure(URLError(.userAuthenticationRequired)))
  }

  func didRequest(
    _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
  ) -> Bool {
    response.statusCode == 401
  }

  func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
    urlRequest.value(forHTTPHeaderField: "X-Token") == "\(credential.number)"
  }
}

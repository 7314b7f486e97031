import Foundation
import FoundationNetworking
import Synchronization
import WeirTestSupport

@testable import Weir

/// A credential that is a word.
struct Token: AuthenticationCredential, Hashable {
  let text: String
  var requiresRefresh = false

  var field: String { "Bearer \(text)" }
}

/// Applies tokens; what a refresh does is a test's.
final class TokenAuthenticator: Authenticator {
  typealias Completion = @Sendable (Result<Token, any Error>) -> Void
  typealias Refresh = @Sendable (Token, Session, @escaping Completion) -> Void

  /// The tokens that were to be refreshed.
  let refreshed = Journal<String>()
  let discards: Bool
  let recognizes: Bool
  private let action: Refresh

  /// - Parameter recognizes: Whether it knows which token a request carries.
  init(discards: Bool = false, recognizes: Bool = true, _ action: @escaping Refresh) {
    self.discards = discards
    self.recognizes = recognizes
    self.action = action
  }

  func apply(_ credential: Token, to urlRequest: inout URLRequest) {
    urlRequest.setValue(credential.field, forHTTPHeaderField: "Authorization")
  }

  func refresh(_ credential: Token, for session: Session, completion: @escaping Completion) {
    refreshed.append(credential.text)
    action(credential, session, completion)
  }

  func didRequest(
    _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
  ) -> Bool {
    response.statusCode == 401
  }

  func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
    recognizes && urlRequest.value(forHTTPHeaderField: "Authorization") == credential.field
  }

  func isRefreshRequest(_ urlRequest: URLRequest) -> Bool { urlRequest.url?.path == "/marked" }

  func shouldDiscard(_ credential: Token, afterRefreshFailure error: any Error) -> Bool { discards }

  var count: Int { refreshed.entries.count }
}

typealias TokenInterceptor = AuthenticationInterceptor<TokenAuthenticator>

/// A server that answers 200 to whoever has a valid token, else 401, and gives out new ones under `/token`.
final class TokenServer: Sendable {
  private final class Tokens: Sendable {
    let valid: Mutex<Set<String>>
    let issued = Mutex(0)

    init(_ valid: Set<String>) {
      self.valid = Mutex(valid)
    }

    func steps(for head: String) -> [Script.Step] {
      if head.contains(" /token ") {
        let token = issued.withLock { issued in
          issued += 1
          return "issued\(issued)"
        }
        valid.withLock { $0 = [token] }
        return [.send(okResponse(token))]
      }
      let isValid = valid.withLock { $0.contains { head.contains("Authorization: Bearer \($0)\r\n") } }
      return [.send(isValid ? okResponse("fine") : response("401 Unauthorized", body: "who?"))]
    }
  }

  let server: ScriptedServer
  private let tokens: Tokens

  init(valid: Set<String> = []) throws {
    let tokens = Tokens(valid)
    self.tokens = tokens
    server = try ScriptedServer(Script(.forever([.dispatchHead { tokens.steps(for: $0 + "\r\n") }])))
  }

  var url: String { server.url }

  func accept(_ valid: Set<String>) { tokens.valid.withLock { $0 = valid } }

  /// The values of `Authorization` in the order of connections and of requests on them.
  var received: [String] { server.allRequests.map { $0.value(of: "Authorization") ?? "-" } }
}

extension Session {
  /// A request that fails when it is refused, with its response.
  func answer(_ url: String, deadline: Double? = nil) async -> WeirDataResponse<String> {
    let request = request(url).validate()
    if let deadline { request.deadline(deadline) }
    return await request.serializingString().response
  }
}

extension WeirError {
  /// The cause of a failed adaptation.
  var adaptationCause: (any Error)? {
    if case .requestAdaptationFailed(let error) = self { error } else { nil }
  }

  /// A retrier's error, and what it was asked about.
  var retryCause: (cause: any Error, original: any Error)? {
    if case .requestRetryFailed(let cause, let original) = self { (cause, original) } else { nil }
  }
}

/// Notes what is told of refreshes.
final class RefreshRecorder: InlineEventMonitor {
  let interests: EventInterests = .refreshes
  let events = Journal<RefreshEvent>()

  func session(_ session: Session, refresh event: RefreshEvent) { events.append(event) }

  /// All changes of who waits, added up.
  var waiting: Int {
    events.entries.reduce(0) { sum, event in
      if case .waiting(let change) = event.kind { sum + change } else { sum }
    }
  }

  var outcomes: [RefreshEvent.Outcome] {
    events.entries.compactMap { if case .ended(_, let outcome) = $0.kind { outcome } else { nil } }
  }
}

import Foundation
import FoundationNetworking
import Synchronization
import WeirTestSupport

@testable import Weir

/// A token service whose answers a test gives, one after another; the last of them is given for ever. And, under any other
/// path than `/token`, a server that answers those who have one of the valid tokens, else 401.
final class TokenService: Sendable {
  private final class State: Sendable {
    let answers: Mutex<[Script.Step]>
    let valid: Mutex<Set<String>>

    init(_ answers: [Script.Step], _ valid: Set<String>) {
      self.answers = Mutex(answers)
      self.valid = Mutex(valid)
    }

    func step() -> Script.Step {
      answers.withLock { answers in answers.count > 1 ? answers.removeFirst() : answers.first ?? .close }
    }

    func api(_ head: String) -> Script.Step {
      let isValid = valid.withLock { $0.contains { (head + "\r\n").contains("Authorization: Bearer \($0)\r\n") } }
      return .send(isValid ? okResponse("fine") : response("401 Unauthorized", body: "who?"))
    }
  }

  let server: ScriptedServer
  private let state: State

  init(_ answers: Script.Step..., valid: Set<String> = []) throws {
    let state = State(answers, valid)
    self.state = state
    server = try ScriptedServer(
      Script(
        .forever([.dispatchHead { head in head.contains(" /token ") ? [state.step()] : [state.api(head)] }])))
  }

  var url: String { server.url }
  /// The requests for a token, in their order.
  var asked: [ReceivedRequest] { server.allRequests.filter { $0.target == "/token" } }

  func answer(_ answers: Script.Step...) { state.answers.withLock { $0 = answers } }

  func accept(_ valid: Set<String>) { state.valid.withLock { $0 = valid } }

  func settings(
    _ authentication: OAuth2Settings.ClientAuthentication = .basic("client-secret")
  ) throws -> OAuth2Settings {
    OAuth2Settings(
      tokenURL: try "\(url)token".asURL(), clientID: "shop", authentication: authentication, scopes: ["read"])
  }
}

extension Script.Step {
  static func token(_ token: String, lifetime: String = "3600") -> Script.Step {
    .send(okResponse(#"{"access_token": "\#(token)", "token_type": "Bearer", "expires_in": \#(lifetime)}"#))
  }

  static func refusal(_ error: String, _ status: String = "400 Bad Request", _ fields: [String] = []) -> Script.Step {
    .send(response(status, fields, body: #"{"error": "\#(error)"}"#))
  }
}

import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// What a session makes of what its makers are given.
@Suite("§5 Making requests", .timeLimit(.minutes(5)))
struct RequestMakingTests {
  /// Each step of building notes itself.
  private struct Steps: URLConvertible, ParameterEncoding, ParameterEncoder {
    let notes: Journal<String>
    let url: String

    func asURL() throws -> URL {
      notes.append("URL")
      return try url.asURL()
    }

    func modify(_ urlRequest: inout URLRequest) {
      notes.append("modifier \(urlRequest.httpMethod ?? "-") \(urlRequest.headers["X-Own"] ?? "-")")
      urlRequest.setValue("modified", forHTTPHeaderField: "X-Own")
    }

    func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
      try encoded(urlRequest.asURLRequest(), by: "encoding", parameters.map { "\($0.count)" })
    }

    func encode<Values: Encodable & Sendable>(_ parameters: Values?, into request: URLRequest) throws -> URLRequest {
      encoded(request, by: "encoder", parameters.map { "\($0)" })
    }

    /// With a body, which a GET must not have.
    private func encoded(_ request: URLRequest, by name: String, _ parameters: String?) -> URLRequest {
      notes.append("\(name) \(parameters ?? "nil") \(request.headers["X-Own"] ?? "-")")
      var request = request
      request.httpBody = Data("body".utf8)
      return request
    }
  }

  @Test("URL, method and headers first; then the modifier, the parameters, and what the result has to be")
  func order() async throws {
    let server = try answeringInTurn(okResponse("x"), okResponse("x"), okResponse("x"))
    let notes = Journal<String>()
    let steps = Steps(notes: notes, url: server.url)
    let session = Session()
    let start = ["URL", "modifier PUT 1"]

    func built(_ request: DataRequest) async -> [String] {
      let count = notes.entries.count
      #expect(await request.plainResponse().error == nil)
      return Array(notes.entries.dropFirst(count))
    }
    #expect(
      await built(
        session.request(
          steps, method: .put, parameters: ["a": 1], encoding: steps, headers: ["X-Own": "1"],
          requestModifier: steps.modify)) == start + ["encoding 1 modified"])
    #expect(
      await built(
        session.request(
          steps, method: .put, encoding: steps, headers: ["X-Own": "1"], requestModifier: steps.modify))
        == start + ["encoding nil modified"])
    #expect(
      await built(
        session.request(
          steps, method: .put, parameters: "a=1", encoder: steps, headers: ["X-Own": "1"],
          requestModifier: steps.modify)) == start + ["encoder a=1 modified"])
    #expect(server.allRequests.map(\.body) == ["body", "body", "body"])
    #expect(server.allRequests.map { $0.value(of: "X-Own") } == ["modified", "modified", "modified"])

    let bodied = await session.request(steps, encoding: steps).plainResponse()
    guard case .urlRequestValidationFailed(.bodyDataInGETRequest)? = bodied.error else {
      Issue.record("\(bodied)")
      return
    }
    #expect(notes.entries.last == "encoding nil -")
  }

  @Test("Without parameters no encoder is asked")
  func noParameters() async throws {
    let server = try answering(okResponse("x"))
    let notes = Journal<String>()
    let steps = Steps(notes: notes, url: server.url)
    let session = Session()
    let request = session.request(steps, parameters: String?.none, encoder: steps)
    #expect(await request.plainResponse().error == nil)
    #expect(notes.entries == ["URL"])
  }

  // MARK: What may be said once

  @Test func aSecondRedirectHandlerTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = Session().request("http://127.0.0.1:1/").redirect(using: .follow).redirect(using: .follow)
    }
  }

  @Test func aSecondCachedResponseHandlerTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = Session().request("http://127.0.0.1:1/").cacheResponse(using: .cache).cacheResponse(using: .cache)
    }
  }
}

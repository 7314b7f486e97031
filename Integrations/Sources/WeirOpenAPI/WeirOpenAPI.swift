public import Foundation
public import HTTPTypes
public import OpenAPIRuntime
public import Weir

/// The transport of a client that Swift OpenAPI Generator has made:
/// `Client(serverURL: url, transport: WeirClientTransport(session))`.
///
/// Bodies are streamed in both directions, each as fast as its reader takes it. A body in memory of up to 64 KiB is
/// sent as one piece, so that it can be sent again; with another one, a retry is possible until its first byte was
/// asked for. The operation's identifier becomes the request's operation. An error arrives as the `underlyingError` of
/// the client's `ClientError`: a ``RequestFailure``, which casts to a ``WeirError``. Keep the session until the bodies
/// of its responses are read.
public struct WeirClientTransport: ClientTransport {
  private let session: Session
  private let failures: Set<Int>
  private let prepare: @Sendable (DataStreamRequest) -> Void

  /// - Parameters:
  ///   - failures: The statuses that fail an attempt, about which the session's retriers are asked. If the last attempt
  ///     has such a status, ``send(_:body:baseURL:operationID:)`` throws a ``WeirError`` with this `responseCode`. All
  ///     other responses are the client's, as a document may describe them.
  ///   - prepare: Called with each request before it begins, in the task of the client's caller.
  public init(
    _ session: Session, failures: Set<Int> = [],
    prepare: @escaping @Sendable (DataStreamRequest) -> Void = { _ in }
  ) {
    self.session = session
    self.failures = failures
    self.prepare = prepare
  }

  public func send(
    _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
  ) async throws -> (HTTPResponse, HTTPBody?) {
    let message = try await Message(request, body, baseURL)
    let call = session.streamRequest(message).operation(operationID)
    if !failures.isEmpty { call.validate(statusCode: Set(100...999).subtracting(failures)) }
    prepare(call)
    let response = try await call.streaming()
    let head = HTTPResponse(response.head)
    if request.method == .head || [204, 304].contains(response.head.statusCode) {
      for try await _ in response.body {}
      return (head, nil)
    }
    return (head, HTTPBody(response.body.map { ArraySlice($0) }, length: .unknown, iterationBehavior: .single))
  }
}

/// A request as the session sends it.
private struct Message: URLRequestConvertible {
  /// The longest body that is held in memory.
  private static let heldLength = 65_536

  private var head: URLRequest
  private var streamed: HTTPBody?

  init(_ request: HTTPRequest, _ body: HTTPBody?, _ baseURL: URL) async throws {
    let base = baseURL.absoluteString
    let text = (base.hasSuffix("/") ? String(base.dropLast()) : base) + (request.path ?? "")
    guard let url = URL(string: text) else { throw WeirError.invalidURL(url: text) }
    head = URLRequest(url: url)
    head.httpMethod = request.method.rawValue
    for field in request.headerFields { head.addValue(field.value, forHTTPHeaderField: field.name.rawName) }
    guard let body else { return }
    if body.iterationBehavior == .single {
      // One stream for all attempts: those that don't take its first byte leave it to the next one.
      head.httpBodyStream = Self.stream(body)
    } else if case .known(0...Int64(Self.heldLength)) = body.length {
      head.httpBody = try await Data(collecting: body, upTo: Self.heldLength)
    } else {
      streamed = body
    }
  }

  /// Called for each attempt.
  func asURLRequest() throws -> URLRequest {
    guard let streamed else { return head }
    var request = head
    request.httpBodyStream = Self.stream(streamed)
    return request
  }

  private static func stream(_ body: HTTPBody) -> SequenceInputStream {
    if case .known(let length) = body.length { return SequenceInputStream(body, length: length) }
    return SequenceInputStream(body)
  }
}

extension HTTPResponse {
  fileprivate init(_ head: HTTPURLResponse) {
    var fields = HTTPFields()
    for field in head.headers {
      if let name = HTTPField.Name(field.name) { fields.append(HTTPField(name: name, value: field.value)) }
    }
    self.init(status: Status(code: head.statusCode), headerFields: fields)
  }
}

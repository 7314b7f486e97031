import Foundation
import FoundationNetworking
public import Weir
import WeirMetrics

extension Exporter {
  /// The effect of a push on the metrics that the group has already.
  public enum PushMode: Sendable {
    /// Removes all of them (PUT).
    case replacingGroup
    /// Replaces those of the same names (POST).
    case replacingMetrics
  }

  /// Sends all metrics to a Pushgateway. The exporter need not be started.
  ///
  /// ```swift
  /// try await exporter.push(to: Pushgateway("http://push.internal:9091", job: "backup", grouping: ["instance": host]))
  /// ```
  ///
  /// Collectors run on the calling thread. `session`: The session to send with; by default one of its own that gives up
  /// after 30 s and retries PUT.
  public func push(
    to gateway: Pushgateway, _ mode: PushMode = .replacingGroup, using session: Session? = nil
  ) async throws(PushError) {
    var page = ExpositionPage()
    registry.write(Exposition(.text), to: &page)
    let body = page.withBytes { Data($0) }
    try await Push(gateway, mode == .replacingGroup ? .put : .post, body).send(with: session)
  }

  /// Deletes all metrics of the group (DELETE): for a job that will not run again.
  /// `session`: As in ``push(to:_:using:)``.
  public func deletePushed(from gateway: Pushgateway, using session: Session? = nil) async throws(PushError) {
    try await Push(gateway, .delete, nil).send(with: session)
  }
}

/// One request to a Pushgateway.
private struct Push {
  private let request: URLRequest

  init(_ gateway: Pushgateway, _ method: HTTPMethod, _ body: Data?) throws(PushError) {
    var base = gateway.url[...]
    while base.hasSuffix("/") { base = base.dropLast() }
    guard let url = URL(text: base + (try gateway.path())), let scheme = url.scheme?.lowercased(),
      scheme == "http" || scheme == "https", url.host?.isEmpty == false, url.query == nil, url.fragment == nil
    else { throw .invalidURL }
    var request = URLRequest(url: url)
    request.httpMethod = method.rawValue
    request.httpBody = body
    if body != nil { request.setValue(Exposition.Format.text.contentType, forHTTPHeaderField: "Content-Type") }
    for header in gateway.headers { request.setValue(header.value, forHTTPHeaderField: header.name) }
    self.request = request
  }

  func send(with session: Session?) async throws(PushError) {
    let session = session ?? Self.makeSession()
    // The answer to a push has no body. Validation makes a 503 an error that the retriers see.
    let response = await session.request(request).validate(statusCode: 200..<300)
      .serializingData(emptyResponseCodes: Set(200..<300), emptyRequestMethods: [.put, .post, .delete]).response
    guard let error = response.error else { return }
    guard let status = response.response?.statusCode, !(200..<300).contains(status) else { throw .unreachable(error) }
    throw .refused(status: status, answer: response.data ?? Data())
  }

  private static func makeSession() -> Session {
    var configuration = SessionConfiguration()
    configuration.timeoutIntervalForResource = 30
    return Session(configuration: configuration, interceptor: RetryPolicy())
  }
}

import Foundation
import FoundationNetworking
import Weir
import WeirTransport

/// One message on its way to a collector: the request of each attempt, with secrets as they are then.
struct OTLPRequest: URLRequestConvertible {
  let url: String
  let contentType: String
  let headers: [String: Secret]
  let body: Data

  func asURLRequest() throws -> URLRequest {
    // The settings have told of a URL that can't be used; no error may show it.
    guard let url = URL(string: url) else { throw URLError(.badURL) }
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.httpBody = body
    request.httpShouldHandleCookies = false
    for (name, secret) in headers { request.setValue(secret.value, forHTTPHeaderField: name) }
    request.setValue(contentType, forHTTPHeaderField: "Content-Type")
    return request
  }
}

/// How a message has fared. A value.
enum OTLPOutcome: Sendable, Equatable {
  /// It was taken, but for so many spans or data points.
  case taken(rejected: Int, text: String)
  /// The collector will not take it, with this status.
  case refused(status: Int, text: String)
  /// The collector did not take it at any attempt. `retryAfter`: after so many seconds it may.
  case failed(text: String, retryAfter: Double?)

  init<Value>(_ response: WeirDataResponse<Value>, by encoder: any TelemetryEncoder) {
    let head = response.response
    // A collector that breaks off after such a head has taken the message.
    guard let head, !OTLPRetryPolicy.statuses.contains(head.statusCode) else {
      let wish = head?.value(forHTTPHeaderField: "Retry-After")
      let seconds = wish.flatMap { RetryAfter.longestDelay([$0], now: Date().timeIntervalSince1970) }
      let text = head.map { "the collector answered \($0.statusCode)" } ?? response.error.map { "\($0)" } ?? ""
      self = .failed(text: text, retryAfter: seconds.map { min($0, RetryAfter.maximum) })
      return
    }
    let isError = !(200..<300).contains(head.statusCode)
    let (rejected, text) = encoder.remark(in: Array(response.data ?? Data()), isError: isError)
    self = isError ? .refused(status: head.statusCode, text: text) : .taken(rejected: rejected, text: text)
  }

  /// The same, with no more rejected items than there were.
  func limited(to count: Int) -> OTLPOutcome {
    guard case .taken(let rejected, let text) = self else { return self }
    return .taken(rejected: min(rejected, count), text: text)
  }

  /// The collector's words about a message that it has taken whole; nil without any.
  var remark: String? {
    if case .taken(0, let text) = self, !text.isEmpty { Self.shown(text) } else { nil }
  }

  /// Why a message was not taken, or not whole; nil if all is well.
  var text: String? {
    switch self {
    case .taken(0, _): nil
    case .taken(let rejected, let text): "the collector has not taken \(rejected) of them: \(Self.shown(text))"
    case .refused(let status, ""): "the collector answered \(status)"
    case .refused(let status, let text): "the collector answered \(status): \(Self.shown(text))"
    case .failed(let text, _): text
    }
  }

  private static func shown(_ text: String) -> String { TelemetryText.shown(text.utf8, atMost: 200) }
}

/// Repeats the attempts to which OTLP's specification allows it, and those without an answer.
final class OTLPRetryPolicy: RetryPolicy, @unchecked Sendable {
  static let statuses: Set<Int> = [429, 502, 503, 504]

  init() {
    super.init(
      retryLimit: 5, retryableHTTPMethods: [.post], retryableHTTPStatusCodes: Self.statuses, jitter: .full,
      maximumDelay: 20, name: "telemetry")
  }

  override func shouldRetry(request: Request, dueTo error: any Error) -> Bool {
    // A message with a head of 2xx was taken, even if the rest of the answer is missing.
    if let status = request.response?.statusCode, (200..<300).contains(status) { return false }
    return super.shouldRetry(request: request, dueTo: error)
  }
}

extension Session {
  /// The longest answer that is read.
  private static let longestAnswer: Int64 = 64 << 10

  /// Sends a message.
  ///
  /// - Parameters:
  ///   - seconds: The limit of all attempts together.
  ///   - credential: Has its word before each attempt, and after refusals; nil for none.
  func send(
    _ body: [UInt8], to url: String, of endpoint: OTLPEndpoint, by encoder: any TelemetryEncoder,
    within seconds: Double, credential: (any RequestInterceptor)? = nil
  ) -> DataRequest {
    let call = OTLPRequest(
      url: url, contentType: encoder.contentType, headers: endpoint.headers, body: Data(body))
    let compressors: [any RequestAdapter] = endpoint.compression == .gzip ? [GzipRequestCompressor()] : []
    let interceptor = Interceptor(
      adapters: compressors, retriers: [OTLPRetryPolicy()], interceptors: credential.map { [$0] } ?? [])
    return request(call, interceptor: interceptor).redirect(using: .doNotFollow)
      .maximumResponseSize(Self.longestAnswer).attemptTimeout(endpoint.timeout).deadline(seconds)
      .validate(statusCode: 200..<300)
  }
}

extension SessionConfiguration {
  /// For a session that sends telemetry and nothing else: no trace, no cookie, no cache, HTTP/1.1.
  static func telemetry(_ endpoint: OTLPEndpoint) -> SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.headers = [.userAgent("weir/\(WeirInfo.version)")]
    configuration.httpVersion = .http1_1
    configuration.tls = endpoint.tls
    // The limit of an attempt ends with the head of an answer; this one holds behind it.
    configuration.timeoutIntervalForRequest = endpoint.timeout
    // There is one request at a time, whose repeats are limited.
    configuration.retryBudget = nil
    configuration.handlerExecution = .eventLoop
    return configuration
  }
}

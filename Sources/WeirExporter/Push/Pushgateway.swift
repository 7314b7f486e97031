import Foundation
public import Weir
import WeirHTTP
import WeirMetrics

/// A Pushgateway, and the group of metrics there that belongs to one job.
///
/// It is meant for batch jobs that end before they could be scraped. A group keeps what was pushed last until it is
/// deleted. So give it labels that tell its jobs apart, but none whose value is new in every run.
public struct Pushgateway: Sendable {
  /// `http://host:9091`, with a path if it has a route prefix.
  public var url: String
  /// The `job` label of all metrics; must not be empty.
  public var job: String
  /// Further labels of the group, such as `instance`. They replace labels of the same name in the metrics.
  public var grouping: [String: String]
  /// Header fields sent with each push, for example `.authorization(username:password:)`.
  public var headers: HTTPHeaders

  /// Makes a group of a gateway. It doesn't check it: a push throws ``PushError`` for an invalid URL or group.
  /// - Parameters:
  ///   - url: the gateway's URL: `http://host:9091`.
  ///   - job: the `job` label; must not be empty.
  ///   - grouping: further labels of the group; none by default.
  ///   - headers: sent with each push; none by default.
  public init(_ url: String, job: String, grouping: [String: String] = [:], headers: HTTPHeaders = []) {
    self.url = url
    self.job = job
    self.grouping = grouping
    self.headers = headers
  }
}

extension Pushgateway {
  /// The path of the group, below the gateway's URL: `/metrics/job/name/instance/host`.
  ///
  /// Values that a path can't hold unchanged are written in base 64 (RFC 4648 §5, Pushgateway's `@base64`), an empty
  /// value as `=`.
  func path() throws(PushError) -> String {
    guard !job.isEmpty else { throw .invalidGroup("the job must not be empty") }
    var path = "/metrics" + Self.segments("job", job)
    for (name, value) in grouping.sorted(by: { $0.key < $1.key }) {
      guard MetricName.isValidLabel(name), !MetricName.isReservedLabel(name), name != "job" else {
        throw .invalidGroup("\(name.debugDescription) can't be a label of the group")
      }
      path += Self.segments(name, value)
    }
    return path
  }

  private static func segments(_ name: String, _ value: String) -> String {
    if value.isEmpty { return "/\(name)@base64/=" }
    // A URL may hold unreserved characters without percent-encoding (RFC 3986 §2.3).
    let isPlain = value.utf8.allSatisfy { OctetSet.unreserved.contains($0) } && value != "." && value != ".."
    return isPlain ? "/\(name)/\(value)" : "/\(name)@base64/\(base64(value))"
  }

  private static func base64(_ text: String) -> String {
    Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}

/// The reason why metrics could not be pushed. Its description says what to change.
public struct PushError: Error, Sendable, CustomStringConvertible {
  /// The kinds of error that a program can tell apart.
  @nonexhaustive
  public enum Code: String, Sendable {
    /// ``Pushgateway/url`` or ``OTLPEndpoint/url`` is not an HTTP URL.
    case invalidURL
    /// The job is empty, or a label's name is invalid.
    case invalidGroup
    /// The gateway or collector could not be reached, or gave no answer: ``PushError/underlyingError`` says why.
    case unreachable
    /// The gateway or collector refused the push with ``PushError/statusCode``; a gateway most often because the metrics
    /// contradict another group's.
    case refused
    /// The collector took the push, but not all data points in it.
    case partial
  }

  /// The kind of error.
  public let code: Code
  public let description: String
  /// The status of the answer, with ``Code/refused``.
  public let statusCode: Int?
  /// The client's own error, with ``Code/unreachable``.
  public let underlyingError: WeirError?

  private init(_ code: Code, _ description: String, statusCode: Int? = nil, underlyingError: WeirError? = nil) {
    self.code = code
    self.description = description
    self.statusCode = statusCode
    self.underlyingError = underlyingError
  }

  static let invalidURL = invalidURL("a Pushgateway's URL begins with http:// or https:// and names a host")

  static func invalidURL(_ problem: String) -> PushError { PushError(.invalidURL, problem) }

  static func invalidGroup(_ problem: String) -> PushError {
    PushError(.invalidGroup, problem)
  }

  static func unreachable(_ error: WeirError, _ peer: String = "the Pushgateway") -> PushError {
    PushError(.unreachable, "\(peer) could not be asked: \(error)", underlyingError: error)
  }

  static func partial(rejected count: Int, _ text: String) -> PushError {
    PushError(.partial, "the collector has not taken \(count) data points\(text.isEmpty ? "" : ": \(text)")")
  }

  /// - Parameter answer: The body of the answer, of which the first kilobyte is kept.
  static func refused(
    status: Int, answer: some Collection<UInt8>, by peer: String = "the Pushgateway"
  ) -> PushError {
    let words = String(decoding: answer.prefix(1024), as: UTF8.self)
    let line = words.split(whereSeparator: \.isNewline).joined(separator: " ")
    return PushError(
      .refused, "\(peer) answered \(status)\(line.isEmpty ? "" : ": \(line)")", statusCode: status)
  }
}

import Synchronization
import WeirIO

/// The error that awaiting a value throws: a ``WeirError`` together with the request that it ended.
///
/// Its text says which request failed and after how many attempts, as ``Request/failureDescription(of:)`` does. In
/// every other respect it is the ``WeirError``: casts and patterns find that one, so `catch let error as WeirError` and
/// `catch WeirError.responseValidationFailed` work as they do with ``DataTask/result``. A plain ``WeirError`` casts to a
/// `RequestFailure` without a request.
public final class RequestFailure: Error {
  /// The error itself, as handlers and ``DataTask/result`` have it.
  public let error: WeirError
  /// Nil for an error that is known without its request.
  private let context: FailureContext?
  private let setting: String?

  init(_ error: WeirError, of request: Request) {
    self.error = error
    context = request.failureContext()
    setting = request.setting(behind: error)
  }

  fileprivate init(_ error: WeirError) {
    self.error = error
    context = nil
    setting = nil
  }

  private var text: String { context?.description(of: error, setting: setting) ?? error.errorDescription ?? "" }
}

extension RequestFailure: LocalizedError, CustomStringConvertible {
  /// The error's text, the request's method and origin, the number of attempts and the time that all of them took;
  /// without secrets.
  public var errorDescription: String? { text }

  /// The label and the text, in the form of a ``WeirError``'s description.
  public var description: String { "\(error.label): \(text)" }
}

// The cases of an enum have no room for the request, and further cases would break patterns. This conformance lets casts
// and patterns find the `WeirError`: Swift's runtime asks the target type of a cast for it, on Linux too. The method names
// are the standard library's.
// swift-format-ignore: NoLeadingUnderscores
extension WeirError: _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> RequestFailure { RequestFailure(self) }

  public static func _forceBridgeFromObjectiveC(_ failure: RequestFailure, result: inout WeirError?) {
    result = failure.error
  }

  public static func _conditionallyBridgeFromObjectiveC(_ failure: RequestFailure, result: inout WeirError?) -> Bool {
    result = failure.error
    return true
  }

  public static func _unconditionallyBridgeFromObjectiveC(_ failure: RequestFailure?) -> WeirError {
    failure?.error ?? .explicitlyCancelled
  }
}

extension Result where Failure == WeirError {
  /// The value; throws the error together with the request that it ended.
  func value(of request: Request) throws -> Success {
    switch self {
    case .success(let value): return value
    case .failure(let error): throw RequestFailure(error, of: request)
    }
  }
}

/// A failed request, its attempt and its duration, for the texts of errors. It has only the origin of the URL, as path,
/// query and user info may be secrets.
struct FailureContext: Sendable {
  /// The key in a `URLError`'s `userInfo`.
  static let key = "weir.request"

  let method: String
  /// Nil when the URL has no host.
  let origin: Destination?
  /// The number of the last attempt, 1 for the first; nil if there was none.
  let attempt: Int?
  /// Seconds since the request began.
  let elapsed: TimeInterval?
}

extension FailureContext: CustomStringConvertible {
  /// `GET https://api.example:443, attempt 2, after 1.250 s`
  var description: String {
    [
      [method, origin?.description].compactMap { $0 }.joined(separator: " "),
      attempt.map { "attempt \($0)" },
      elapsed.map { "after \(String(format: "%.3f", $0)) s" },
    ].compactMap { $0 }.joined(separator: ", ")
  }
}

extension FailureContext {
  /// The error's text, the setting behind it and the request.
  func description(of error: any Error, setting: String?) -> String {
    let text = Redaction.errorText((error as? WeirError)?.text ?? error.text)
    return "\(text)\(setting.map { " \($0)." } ?? "") (\(self))"
  }
}

extension URLError {
  /// The failed request; nil if the error was not given one.
  var context: FailureContext? { errorUserInfo[FailureContext.key] as? FailureContext }

  /// The same error with the request and its URL, unless it has them already.
  func about(_ context: FailureContext, _ url: URL?) -> URLError {
    var info: [String: Any] = [FailureContext.key: context]
    if let url { info[NSURLErrorFailingURLErrorKey] = Redaction.url(url) }
    return URLError(code, userInfo: info.merging(errorUserInfo) { $1 })
  }
}

extension Request {
  /// The context as far as it is known now.
  ///
  /// - Parameters:
  ///   - hop: The method and the URL of the present hop, if there is one.
  ///   - attempt: The attempt's number, in place of the number of attempts that were put on the wire.
  func failureContext(of hop: HopRequest? = nil, attempt: Int? = nil) -> FailureContext {
    let (method, destination, started, duration) = fields.withLock { fields in
      (
        fields.method, fields.destination, fields.startedCount,
        (fields.began ?? fields.times?.start).map { (fields.ended ?? .now).seconds(since: $0) }
      )
    }
    let attempt = attempt ?? (started > 0 ? started : nil)
    return FailureContext(
      method: hop?.method ?? method ?? "request", origin: hop?.url.flatMap(Destination.init(url:)) ?? destination,
      attempt: attempt, elapsed: duration)
  }

  /// The text to log for an error with which this request ended. It has the error's text, the method, the origin, the
  /// number of attempts, the time that all of them took and, for a rejection, the value of the setting. Like all error
  /// texts it has no secrets.
  ///
  /// A ``WeirError/sessionTaskFailed(error:)`` already has most of that in its own text. Other errors, such as an
  /// unacceptable status, are values that know nothing of their request.
  public func failureDescription(of error: any Error) -> String {
    failureContext().description(of: error, setting: setting(behind: error))
  }

  /// The setting that turned the request away, with its value; nil for an error that is not a rejection.
  func setting(behind error: any Error) -> String? {
    guard case .requestRejected(let reason)? = error as? WeirError else { return nil }
    return reason.setting(in: context.configuration)
  }
}

extension WeirError.RequestRejectionReason {
  /// The setting that caused the rejection, with its value.
  func setting(in configuration: SessionConfiguration) -> String? {
    switch self {
    case .circuitOpen: configuration.circuitBreaker.map { "circuitBreaker.failureRatio: \($0.failureRatio)" }
    case .queueFull: "maximumPendingRequestsPerHost: \(configuration.maximumPendingRequestsPerHost)"
    case .admissionTimeout: "admissionTimeout: \(configuration.admissionTimeout) s"
    case .overloaded(.paused, _): configuration.pace.map { "pace.wait: \($0.wait) s, pace.obey: \($0.obeyText)" }
    case .overloaded(.pace, _): configuration.pace.map { "pace.wait: \($0.wait) s\($0.rateText)" }
    case .overloaded(.silent, _): configuration.overload?.silence.map { "overload.silence: \($0) s" }
    case .overloaded: configuration.overload.map { "overload.wait: \($0.wait) s" }
    case .noEndpoint: nil
    }
  }
}

extension PaceSettings {
  fileprivate var obeyText: String { obey.map(\.rawValue).sorted().joined(separator: ", ") }

  fileprivate var rateText: String { rate.map { ", pace.rate: \($0)" } ?? "" }
}

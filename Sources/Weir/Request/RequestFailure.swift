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

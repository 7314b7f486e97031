import Dispatch
import Foundation
import FoundationNetworking

/// One response handler of a request: how its value is made and where it is delivered.
struct ResponseHandler: Sendable {
  let queue: HandlerQueue
  /// Whether a failure of the value is put to the retriers; not so for the plain `response` handler.
  let consultsRetriers: Bool
  /// Makes the value. May take long; runs without a lock.
  let makeValue: @Sendable (SerializationInput) -> HandlerValue
}

/// What a handler's value is made from.
struct SerializationInput: Sendable {
  let request: Request
  let urlRequest: URLRequest?
  let response: LazyHTTPResponse?
  let data: Data?
  let metrics: TransferMetrics?
  let times: RequestTimes?
  let error: WeirError?
  /// Set when the outcome doesn't ask a serializer any more: cancelled, or refused by a retrier.
  var verdict: WeirError?
}

/// A handler's value, ready to be delivered once.
struct HandlerValue: Sendable {
  let error: WeirError?
  /// Seconds the serializer took.
  let duration: TimeInterval
  /// Tells monitors of the value; nil when nobody listens.
  let announce: (@Sendable () -> Void)?
  let deliver: @Sendable () -> Void
}

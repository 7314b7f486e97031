import Dispatch
import Foundation
import FoundationNetworking

/// One response handler of a request: how its value is made and where it is delivered.
///
/// Objects and no structs of closures, so that passing one on costs one retain.
protocol ResponseHandler: AnyObject, Sendable {
  var queue: HandlerQueue { get }
  /// Whether a failure of the value is put to the retriers; not so for the plain `response` handler.
  var consultsRetriers: Bool { get }
  /// Makes the value. May take long; runs without a lock.
  func makeValue(_ input: SerializationInput) -> any HandlerValue
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
protocol HandlerValue: AnyObject, Sendable {
  var error: WeirError? { get }
  /// Seconds the serializer took.
  var duration: TimeInterval { get }
  /// Tells monitors of the value.
  func announce(from request: Request)
  /// Calls the caller's handler.
  func deliver()
}

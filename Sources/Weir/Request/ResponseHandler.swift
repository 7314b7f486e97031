import Dispatch
import Synchronization
import WeirIO

/// One response handler of a request: how its value is made and where it is delivered.
///
/// Not generic, since methods of a generic type would have to find out at run time what kind of value they handle.
struct ResponseHandler: Sendable {
  let queue: HandlerQueue
  /// Whether a failure of the value is put to the retriers; not so for the plain `response` handler.
  let consultsRetriers: Bool
  /// Whether making the value takes longer for a longer body.
  let readsBody: Bool
  /// Whether making the value reads a file, which is never done on the loop.
  var readsFile = false
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
  /// Set when the outcome doesn't ask a serializer any more: cancelled, ended from outside, or refused by a retrier.
  var verdict: WeirError?
}

/// A handler's value, ready to be delivered once.
struct HandlerValue: Sendable {
  enum Use {
    /// Tell monitors of the value.
    case announce(request: Request, monitors: CompositeEventMonitor)
    /// Call the caller's handler.
    case deliver
  }

  let error: WeirError?
  /// Seconds the serializer took.
  let duration: TimeInterval
  let use: @Sendable (Use) -> Void

  func announce(from request: Request) {
    let monitors = request.fields.withLock { $0.monitors }
    if monitors.wants(.responses) { use(.announce(request: request, monitors: monitors)) }
  }

  func deliver() { use(.deliver) }
}

extension Request {
  func adding(_ handler: ResponseHandler) -> Self {
    addHandler(handler)
    return self
  }
}

extension SerializationInput {
  /// The error that the request has failed with.
  var failure: WeirError? { verdict ?? error }

  /// The value that a serializer makes of it, or the verdict if the outcome is fixed without one.
  func result<Value>(_ serialize: () throws -> Value) -> Result<Value, WeirError> {
    verdict.map { .failure($0) } ?? .serialized(by: serialize)
  }

  /// The timeline of the request, which ends with this time.
  func timeline(serializationCompleted: MonotonicTime) -> Timeline {
    (times ?? RequestTimes()).timeline(serializationCompleted: serializationCompleted)
  }
}

extension Result where Failure == WeirError {
  /// The value that a serializer makes, or its error as that of the request.
  static func serialized(by serialize: () throws -> Success) -> Self {
    do {
      return .success(try serialize())
    } catch {
      return .failure(.serialization(error))
    }
  }
}

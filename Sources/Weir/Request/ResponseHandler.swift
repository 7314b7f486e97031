import Dispatch
import Synchronization
import WeirIO

/// One response handler of a request: it makes a value and delivers it on a queue.
///
/// The type is not generic, since methods of a generic type would have to find out the kind of value at run time.
struct ResponseHandler: Sendable {
  let queue: HandlerQueue
  /// Whether retriers are asked about a failure of the value; false for the plain `response` handler.
  let consultsRetriers: Bool
  /// Whether making the value takes longer for a longer body.
  let readsBody: Bool
  /// Whether making the value reads a file, which is never done on the loop.
  var readsFile = false
  /// Makes the value. May take long; called without a lock.
  let makeValue: @Sendable (SerializationInput) -> HandlerValue
}

/// The input from which a handler's value is made.
struct SerializationInput: Sendable {
  let request: Request
  let contents: ResponseContents
  let times: RequestTimes?
  let error: WeirError?
  /// Set if the outcome is fixed: the request was cancelled, ended from outside, or refused by a retrier.
  var verdict: WeirError?
}

/// A handler's value, ready to be delivered once.
struct HandlerValue: Sendable {
  enum Use {
    /// Tell monitors about the value.
    case announce(request: Request, monitors: CompositeEventMonitor)
    /// Call the caller's handler.
    case deliver
  }

  let error: WeirError?
  /// The seconds that the serializer took.
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
  var hop: HopRequest? { contents.hop }
  var urlRequest: URLRequest? { hop?.urlRequest }
  var response: LazyHTTPResponse? { contents.head }
  var data: Data? { contents.data }
  var metrics: TransferMetrics? { contents.metrics }
  var failure: WeirError? { verdict ?? error }

  /// The value that a serializer makes of this input, or the verdict if the outcome is fixed without a serializer.
  func result<Value>(_ serialize: () throws -> Value) -> Result<Value, WeirError> {
    verdict.map { .failure($0) } ?? .serialized(by: serialize)
  }

  /// The request's timeline, which ends at this time.
  func timeline(serializationCompleted: MonotonicTime) -> Timeline {
    (times ?? RequestTimes()).timeline(serializationCompleted: serializationCompleted)
  }
}

extension Result where Failure == WeirError {
  /// The value that a serializer makes, or its error as the request's error.
  static func serialized(by serialize: () throws -> Success) -> Self {
    do {
      return .success(try serialize())
    } catch {
      return .failure(.serialization(error))
    }
  }
}

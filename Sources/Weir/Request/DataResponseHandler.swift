import Foundation
import Synchronization
import WeirIO

/// A handler of a data request.
final class DataResponseHandler<Value: Sendable>: ResponseHandler {
  /// A function from what the attempt left to a value.
  typealias Serialization = @Sendable (SerializationInput) -> Result<Value, WeirError>
  typealias Completion = @Sendable (WeirDataResponse<Value>) -> Void

  let queue: HandlerQueue
  let consultsRetriers: Bool
  private let serialization: Serialization
  private let completion: Completion

  init(
    on queue: HandlerQueue, consultsRetriers: Bool, _ serialization: @escaping Serialization,
    _ completion: @escaping Completion
  ) {
    self.queue = queue
    self.consultsRetriers = consultsRetriers
    self.serialization = serialization
    self.completion = completion
  }

  /// The one place where a response is put together.
  func makeValue(_ input: SerializationInput) -> any HandlerValue {
    let times = input.times ?? RequestTimes()
    let began = MonotonicTime.now
    let result = input.verdict.map { .failure($0) } ?? serialization(input)
    let ended = consultsRetriers ? MonotonicTime.now : began
    return Made(
      response: WeirDataResponse(
        request: input.urlRequest, lazyResponse: input.response, data: input.data, metrics: input.metrics,
        serializationDuration: ended.seconds(since: began), result: result,
        timeline: times.timeline(serializationCompleted: ended)),
      completion: completion)
  }

  private final class Made: HandlerValue {
    let response: WeirDataResponse<Value>
    let completion: Completion

    init(response: WeirDataResponse<Value>, completion: @escaping Completion) {
      self.response = response
      self.completion = completion
    }

    var error: WeirError? { response.error }
    var duration: TimeInterval { response.serializationDuration }

    func announce(from request: Request) {
      let monitors = request.fields.withLock { $0.monitors }
      guard monitors.wants(.responses), let request = request as? DataRequest else { return }
      monitors.send(.responses) { [response] monitor in
        if let plain = response as? WeirDataResponse<Data?> {
          monitor.request(request, didParseResponse: plain)
        } else {
          monitor.request(request, didParseResponse: response)
        }
      }
    }

    func deliver() { completion(response) }
  }
}

extension DataResponseHandler where Value == Data? {
  /// Gives the body as it is, and asks nobody again.
  convenience init(on queue: HandlerQueue, _ completion: @escaping Completion) {
    self.init(
      on: queue, consultsRetriers: false, { input in input.error.map { .failure($0) } ?? .success(input.data) },
      completion)
  }
}

extension DataResponseHandler {
  /// Gives what a serializer makes of the response.
  convenience init(
    on queue: HandlerQueue, serializing serialize: @escaping LazySerialization<Value>,
    _ completion: @escaping Completion
  ) {
    self.init(
      on: queue, consultsRetriers: true,
      { input in
        Self.result { try serialize(input.urlRequest, input.response, input.data, input.error) }
      }, completion)
  }

  /// The same for a serializer of weir's own, which is known to need no built response.
  convenience init(
    on queue: HandlerQueue, using serializer: some LazyResponseSerializer<Value>, _ completion: @escaping Completion
  ) {
    self.init(
      on: queue, consultsRetriers: true,
      { input in
        Self.result {
          try serializer.serialize(
            request: input.urlRequest, lazyResponse: input.response, data: input.data, error: input.error)
        }
      }, completion)
  }

  private static func result(_ serialize: () throws -> Value) -> Result<Value, WeirError> {
    do {
      return .success(try serialize())
    } catch {
      return .failure(.serialization(error))
    }
  }
}

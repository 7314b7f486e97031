public import Dispatch
public import Foundation
import FoundationNetworking
import Synchronization
import WeirIO

extension DataRequest {
  /// Adds a handler that gets the body as it is. It never asks the retriers again.
  ///
  /// - Parameter queue: Where the handler runs; nil: see ``SessionConfiguration/handlerExecution``.
  @discardableResult
  public func response(
    queue: DispatchQueue? = nil, completionHandler: @escaping @Sendable (WeirDataResponse<Data?>) -> Void
  ) -> Self {
    addHandler(
      handler(on: HandlerQueue(queue), consultsRetriers: false, plain, completionHandler))
    return self
  }

  /// Adds a handler that gets what `serializer` makes of the response.
  @discardableResult
  public func response<Serializer: DataResponseSerializerProtocol>(
    queue: DispatchQueue? = nil, responseSerializer: Serializer,
    completionHandler: @escaping @Sendable (WeirDataResponse<Serializer.SerializedObject>) -> Void
  ) -> Self {
    addHandler(
      handler(
        on: HandlerQueue(queue), consultsRetriers: true,
        serialization(by: responseSerializer.lazySerialization), completionHandler))
    return self
  }

  /// The same, for serializers that have a short name: `.data`, `.string`, `.decodable(of:)`.
  @discardableResult
  public func response<Serializer: ResponseSerializer>(
    queue: DispatchQueue? = nil, responseSerializer: Serializer,
    completionHandler: @escaping @Sendable (WeirDataResponse<Serializer.SerializedObject>) -> Void
  ) -> Self {
    addHandler(
      handler(
        on: HandlerQueue(queue), consultsRetriers: true,
        serialization(by: responseSerializer.lazySerialization), completionHandler))
    return self
  }

  /// Adds a handler that gets the body, which must not be empty unless method or status allow it.
  @discardableResult
  public func responseData(
    queue: DispatchQueue? = nil,
    dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
    emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
    completionHandler: @escaping @Sendable (WeirDataResponse<Data>) -> Void
  ) -> Self {
    respond(
      on: queue,
      using: DataResponseSerializer(
        dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods), completionHandler)
  }

  /// Adds a handler that gets the body as text, decoded by `encoding`, else by the response's charset.
  @discardableResult
  public func responseString(
    queue: DispatchQueue? = nil,
    dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
    encoding: String.Encoding? = nil,
    emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods,
    completionHandler: @escaping @Sendable (WeirDataResponse<String>) -> Void
  ) -> Self {
    respond(
      on: queue,
      using: StringResponseSerializer(
        dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods), completionHandler)
  }

  /// Adds a handler that gets a value decoded from the body.
  @discardableResult
  public func responseDecodable<Value: Decodable & Sendable>(
    of type: Value.Type = Value.self, queue: DispatchQueue? = nil,
    dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer<Value>.defaultDataPreprocessor,
    decoder: any DataDecoder = JSONDecoder(),
    emptyResponseCodes: Set<Int> = DecodableResponseSerializer<Value>.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer<Value>.defaultEmptyRequestMethods,
    completionHandler: @escaping @Sendable (WeirDataResponse<Value>) -> Void
  ) -> Self {
    respond(
      on: queue,
      using: DecodableResponseSerializer<Value>(
        dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods), completionHandler)
  }

  /// Adds a handler for a serializer of weir's own, which is known to need no built response.
  private func respond<Serializer: LazyResponseSerializer>(
    on queue: DispatchQueue?, using serializer: Serializer,
    _ completionHandler: @escaping @Sendable (WeirDataResponse<Serializer.SerializedObject>) -> Void
  ) -> Self {
    addHandler(
      handler(
        on: HandlerQueue(queue), consultsRetriers: true, serialization(by: serializer.serialize),
        completionHandler))
    return self
  }

  // MARK: How a value is made

  /// A function from what the attempt left to a value.
  typealias Serialization<Value> = @Sendable (SerializationInput) -> Result<Value, WeirError>

  var plain: Serialization<Data?> {
    { input in input.error.map { .failure($0) } ?? .success(input.data) }
  }

  func serialization<Value>(
    by serialize: @escaping @Sendable (URLRequest?, LazyHTTPResponse?, Data?, (any Error)?) throws -> Value
  ) -> Serialization<Value> {
    { input in
      do {
        return .success(try serialize(input.urlRequest, input.response, input.data, input.error))
      } catch {
        return .failure(.serialization(error))
      }
    }
  }

  /// The one place where a response is put together.
  func handler<Value: Sendable>(
    on queue: HandlerQueue, consultsRetriers: Bool, _ serialization: @escaping Serialization<Value>,
    _ completion: @escaping @Sendable (WeirDataResponse<Value>) -> Void
  ) -> ResponseHandler {
    ResponseHandler(queue: queue, consultsRetriers: consultsRetriers) { input in
      let response = WeirDataResponse<Value>(input, measuring: consultsRetriers, serialization)
      return HandlerValue(
        error: response.error, duration: response.serializationDuration,
        announce: Self.announcement(of: response, from: input.request),
        deliver: { completion(response) })
    }
  }

  private static func announcement<Value>(
    of response: WeirDataResponse<Value>, from request: Request
  ) -> (@Sendable () -> Void)? {
    let monitors = request.fields.withLock { $0.monitors }
    guard monitors.wants(.responses), let request = request as? DataRequest else { return nil }
    return {
      monitors.send(.responses) { monitor in
        if let plain = response as? WeirDataResponse<Data?> {
          monitor.request(request, didParseResponse: plain)
        } else {
          monitor.request(request, didParseResponse: response)
        }
      }
    }
  }
}

extension DataResponse where Failure == WeirError {
  /// Runs the serialization, unless the outcome is decided already, and takes the time.
  fileprivate init(
    _ input: SerializationInput, measuring: Bool, _ serialization: DataRequest.Serialization<Success>
  ) {
    let times = input.times ?? RequestTimes()
    let began = MonotonicTime.now
    let result = input.verdict.map { .failure($0) } ?? serialization(input)
    let ended = measuring ? MonotonicTime.now : began
    self.init(
      request: input.urlRequest, lazyResponse: input.response, data: input.data, metrics: input.metrics,
      serializationDuration: ended.seconds(since: began), result: result,
      timeline: times.timeline(serializationCompleted: ended))
  }
}

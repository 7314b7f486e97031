/// Decodes the body.
public final class DecodableResponseSerializer<Value: Decodable & Sendable>: ResponseSerializer {
  public let dataPreprocessor: any DataPreprocessor
  /// Decodes the body; `JSONDecoder` by default.
  public let decoder: any DataDecoder
  public let emptyResponseCodes: Set<Int>
  public let emptyRequestMethods: Set<HTTPMethod>

  /// Makes a serializer with a decoder, a preprocessor, and the status codes and methods that allow an empty body.
  public init(
    dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer.defaultDataPreprocessor,
    decoder: any DataDecoder = JSONDecoder(),
    emptyResponseCodes: Set<Int> = DecodableResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer.defaultEmptyRequestMethods
  ) {
    self.dataPreprocessor = dataPreprocessor
    self.decoder = decoder
    self.emptyResponseCodes = emptyResponseCodes
    self.emptyRequestMethods = emptyRequestMethods
  }
}

extension DecodableResponseSerializer: BodySerializer {
  public typealias SerializedObject = Value

  func emptyValue() throws -> Value {
    guard let type = Value.self as? any EmptyResponse.Type, let value = type.emptyValue() as? Value else {
      throw WeirError.responseSerializationFailed(reason: .invalidEmptyResponse(type: "\(Value.self)"))
    }
    return value
  }

  func value(of body: Data, response: (some ResponseFacts)?) throws -> Value {
    do {
      return try decoder.decode(Value.self, from: body)
    } catch let error as DecodingError {
      let error = BodyFacts(response).map(error.naming) ?? error
      throw WeirError.responseSerializationFailed(reason: .decodingFailed(error: error))
    } catch {
      throw WeirError.responseSerializationFailed(reason: .decodingFailed(error: error))
    }
  }
}

extension ResponseSerializer {
  /// Decodes the body.
  @preconcurrency
  public static func decodable<Value: Decodable & Sendable>(
    of type: Value.Type,
    dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer<Value>.defaultDataPreprocessor,
    decoder: any DataDecoder = JSONDecoder(),
    emptyResponseCodes: Set<Int> = DecodableResponseSerializer<Value>.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer<Value>.defaultEmptyRequestMethods
  ) -> DecodableResponseSerializer<Value> where Self == DecodableResponseSerializer<Value> {
    DecodableResponseSerializer<Value>(
      dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
      emptyRequestMethods: emptyRequestMethods)
  }
}

/// Decodes a value from a body.
@preconcurrency
public protocol DataDecoder: Sendable {
  /// Returns the value. An error that it throws becomes
  /// ``WeirError/ResponseSerializationFailureReason/decodingFailed(error:)``. Several threads may call at once.
  func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONDecoder: DataDecoder {}

extension PropertyListDecoder: DataDecoder {}

/// A type with a value for "no body".
@preconcurrency
public protocol EmptyResponse: Sendable {
  /// The value in place of a body that was allowed to be empty.
  static func emptyValue() -> Self
}

/// The value of a response without a body, for decodable handlers.
public struct Empty: Hashable, Codable, Sendable, EmptyResponse {
  /// The only value.
  public static let value = Empty()

  public static func emptyValue() -> Empty { value }
}

/// Gives the body as dictionaries, arrays, strings, numbers and `NSNull`, by `JSONSerialization`.
@available(*, deprecated, message: "Use DecodableResponseSerializer.")
public final class JSONResponseSerializer: ResponseSerializer {
  public let dataPreprocessor: any DataPreprocessor
  public let emptyResponseCodes: Set<Int>
  public let emptyRequestMethods: Set<HTTPMethod>
  /// The options of `JSONSerialization`; by default fragments are allowed.
  public let options: JSONSerialization.ReadingOptions

  /// Makes a serializer with a preprocessor, the status codes and methods for which the body may be empty, and options.
  public init(
    dataPreprocessor: any DataPreprocessor = JSONResponseSerializer.defaultDataPreprocessor,
    emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods,
    options: JSONSerialization.ReadingOptions = .allowFragments
  ) {
    self.dataPreprocessor = dataPreprocessor
    self.emptyResponseCodes = emptyResponseCodes
    self.emptyRequestMethods = emptyRequestMethods
    self.options = options
  }
}

@available(*, deprecated)
extension JSONResponseSerializer: BodySerializer {
  public typealias SerializedObject = any Sendable

  func emptyValue() throws -> any Sendable { NSNull() }

  func value(of body: Data, response: (some ResponseFacts)?) throws -> any Sendable {
    do {
      return Self.sendable(try JSONSerialization.jsonObject(with: body, options: options))
    } catch {
      throw WeirError.responseSerializationFailed(reason: .jsonSerializationFailed(error: error))
    }
  }

  /// The same value as a Sendable type: `JSONSerialization` makes trees of these types only.
  private static func sendable(_ value: Any) -> any Sendable {
    switch value {
    case let value as [String: Any]: value.mapValues(sendable)
    case let value as [Any]: value.map(sendable)
    case let value as String: value
    case let value as NSNumber: value
    default: NSNull()
    }
  }
}

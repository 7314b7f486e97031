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

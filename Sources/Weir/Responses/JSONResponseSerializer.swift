/// Gives the body as dictionaries, arrays, strings, numbers and `NSNull`, by `JSONSerialization`.
@available(*, deprecated, message: "Use DecodableResponseSerializer.")
public final class JSONResponseSerializer: ResponseSerializer {
  public let dataPreprocessor: any DataPreprocessor
  public let emptyResponseCodes: Set<Int>
  public let emptyRequestMethods: Set<HTTPMethod>
  /// What `JSONSerialization` is given; fragments are allowed by default.
  public let options: JSONSerialization.ReadingOptions

  /// Takes what `JSONSerialization` is given, what changes the body first, and when it may be empty.
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

  /// The same value, statically Sendable: what `JSONSerialization` makes is a tree of these types and no others.
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

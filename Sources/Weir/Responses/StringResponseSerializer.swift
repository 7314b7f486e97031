/// Gives the body as text: in the given encoding, else the response's charset, else ISO Latin 1.
///
/// A charset that is not known is ``WeirError/ResponseSerializationFailureReason/unknownCharset(_:)``, and a body that is
/// not valid in its charset ``WeirError/ResponseSerializationFailureReason/stringSerializationFailed(encoding:)``.
public final class StringResponseSerializer: ResponseSerializer {
  public let dataPreprocessor: any DataPreprocessor
  /// The encoding to use whatever the response says; nil: the response's charset decides.
  public let encoding: String.Encoding?
  public let emptyResponseCodes: Set<Int>
  public let emptyRequestMethods: Set<HTTPMethod>

  /// Makes a serializer with an encoding, a preprocessor, and the status codes and methods that allow an empty body.
  public init(
    dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
    encoding: String.Encoding? = nil,
    emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
  ) {
    self.dataPreprocessor = dataPreprocessor
    self.encoding = encoding
    self.emptyResponseCodes = emptyResponseCodes
    self.emptyRequestMethods = emptyRequestMethods
  }
}

extension StringResponseSerializer: BodySerializer {
  public typealias SerializedObject = String

  func emptyValue() throws -> String { "" }

  func value(of body: Data, response: (some ResponseFacts)?) throws -> String {
    let encoding = try encoding ?? Self.encoding(ofContentType: response?.value(forHeader: "Content-Type"))
    guard let text = String(data: body, encoding: encoding) else {
      throw WeirError.responseSerializationFailed(reason: .stringSerializationFailed(encoding: encoding))
    }
    return text
  }

  /// ISO Latin 1 without a charset. An unknown one is an error: text in a wrong one would look right at first.
  private static func encoding(ofContentType contentType: String?) throws(WeirError) -> String.Encoding {
    guard let name = contentType.flatMap(Charset.name) else { return .isoLatin1 }
    guard let encoding = Charset.encoding(named: name) else {
      throw .responseSerializationFailed(reason: .unknownCharset(name))
    }
    return encoding
  }
}

extension ResponseSerializer where Self == StringResponseSerializer {
  /// Gives the body as text.
  public static var string: StringResponseSerializer { StringResponseSerializer() }

  /// Gives the body as text.
  public static func string(
    dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
    encoding: String.Encoding? = nil,
    emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
  ) -> StringResponseSerializer {
    StringResponseSerializer(
      dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
      emptyRequestMethods: emptyRequestMethods)
  }
}

import WeirHTTP

/// Gives the body as text: in the given encoding, else the response's charset, else ISO Latin 1.
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
    let encoding = encoding ?? Charset.encoding(ofContentType: response?.value(forHeader: "Content-Type"))
    guard let text = String(data: body, encoding: encoding) else {
      throw WeirError.responseSerializationFailed(reason: .stringSerializationFailed(encoding: encoding))
    }
    return text
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

/// The charset parameter of a media type (RFC 9110 section 8.3.2), as an encoding.
enum Charset {
  /// The encoding that a Content-Type names; ISO Latin 1 if it names none or an unknown one.
  static func encoding(ofContentType contentType: String?) -> String.Encoding {
    contentType.flatMap(name).flatMap { encodings[$0] } ?? .isoLatin1
  }

  /// The charset's name in lower case, without quotes.
  static func name(in contentType: String) -> String? {
    contentType.withOctets { contentType in
      for parameter in contentType.parameterParts.dropFirst() {
        guard let sign = parameter.firstIndex(of: .equalsSign),
          parameter.octets(0..<sign).trimmed.spells("charset")
        else { continue }
        let value = parameter.octets(sign + 1..<parameter.count).trimmed
        let name = value.drop { $0 == .quotationMark }.prefix { $0 != .quotationMark }
        return FieldSyntax.lowercased(UnsafeRawBufferPointer(rebasing: name))
      }
      return nil
    }
  }

  private static let encodings: [String: String.Encoding] = [
    "utf-8": .utf8, "iso-8859-1": .isoLatin1,
    "utf-16": .utf16, "iso-10646-ucs-2": .utf16, "unicode-1-1": .utf16,
    "utf-16be": .utf16BigEndian, "utf-16le": .utf16LittleEndian,
    "utf-32": .utf32, "utf-32be": .utf32BigEndian, "utf-32le": .utf32LittleEndian,
  ]
}

/// Puts an `Encodable` value into a request.
@preconcurrency
public protocol ParameterEncoder: Sendable {
  /// The request with the parameters; unchanged if they are nil.
  @preconcurrency
  func encode<Parameters: Encodable & Sendable>(
    _ parameters: Parameters?, into request: URLRequest
  ) throws -> URLRequest
}

/// Encodes a value as a JSON body.
public final class JSONParameterEncoder: ParameterEncoder {
  /// An encoder with a new `JSONEncoder`.
  public static var `default`: JSONParameterEncoder { JSONParameterEncoder() }

  /// An encoder that writes line breaks and indentation.
  public static var prettyPrinted: JSONParameterEncoder {
    JSONParameterEncoder(formatting: .prettyPrinted)
  }

  /// An encoder that sorts keys, so that equal values give equal bytes.
  public static var sortedKeys: JSONParameterEncoder {
    JSONParameterEncoder(formatting: .sortedKeys)
  }

  /// The encoder of the body. Its settings must not change while it is in use.
  public let encoder: JSONEncoder

  /// Takes the encoder, with its settings.
  public init(encoder: JSONEncoder = JSONEncoder()) {
    self.encoder = encoder
  }

  private convenience init(formatting: JSONEncoder.OutputFormatting) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = formatting
    self.init(encoder: encoder)
  }

  @preconcurrency
  public func encode<Parameters: Encodable & Sendable>(
    _ parameters: Parameters?, into request: URLRequest
  ) throws -> URLRequest {
    guard let parameters else { return request }
    var request = request
    try QueryPlacement.setJSON(of: &request) { try encoder.encode(parameters) }
    return request
  }
}

extension ParameterEncoder where Self == JSONParameterEncoder {
  /// A JSON body.
  public static var json: JSONParameterEncoder { .default }

  /// A JSON body.
  public static func json(encoder: JSONEncoder = JSONEncoder()) -> JSONParameterEncoder {
    JSONParameterEncoder(encoder: encoder)
  }
}

/// Encodes a value as `application/x-www-form-urlencoded`, into the URL or the body.
public final class URLEncodedFormParameterEncoder: ParameterEncoder {
  /// The place for the parameters.
  public typealias Destination = URLEncoding.Destination

  /// An encoder with all defaults; the method decides where the parameters go.
  public static var `default`: URLEncodedFormParameterEncoder { URLEncodedFormParameterEncoder() }

  /// The encoder of the text.
  public let encoder: URLEncodedFormEncoder
  /// The place for the text.
  public let destination: Destination

  /// Creates an encoder.
  public init(encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(), destination: Destination = .methodDependent) {
    self.encoder = encoder
    self.destination = destination
  }

  @preconcurrency
  public func encode<Parameters: Encodable & Sendable>(
    _ parameters: Parameters?, into request: URLRequest
  ) throws -> URLRequest {
    guard let parameters else { return request }
    guard let url = request.url else { throw Self.missing(.url) }
    guard let method = request.httpMethod else { throw Self.missing(.httpMethod(rawValue: "nil")) }
    let query = try text(of: parameters)
    var request = request
    if destination.isURL(for: method) {
      guard let extended = QueryPlacement.url(url, adding: query) else { throw Self.missing(.url) }
      if !query.isEmpty { request.url = extended }
    } else {
      try QueryPlacement.setBody(Data(query.utf8), QueryPlacement.formContentType, of: &request)
    }
    return request
  }

  private func text(of parameters: some Encodable) throws -> String {
    do {
      return try encoder.encode(parameters)
    } catch {
      throw WeirError.parameterEncoderFailed(reason: .encoderFailed(error: error))
    }
  }

  private static func missing(_ part: WeirError.ParameterEncoderFailureReason.RequiredComponent) -> WeirError {
    .parameterEncoderFailed(reason: .missingRequiredComponent(part))
  }
}

extension ParameterEncoder where Self == URLEncodedFormParameterEncoder {
  /// Form encoding.
  public static var urlEncodedForm: URLEncodedFormParameterEncoder { .default }

  /// Form encoding.
  public static func urlEncodedForm(
    encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(),
    destination: URLEncodedFormParameterEncoder.Destination = .methodDependent
  ) -> URLEncodedFormParameterEncoder {
    URLEncodedFormParameterEncoder(encoder: encoder, destination: destination)
  }
}

extension Error {
  /// The text of an inner error: its own description if it has one, else its type and value. A bare enum of an adapter
  /// then says more than "error 0".
  var text: String {
    switch self {
    case let error as DecodingError: error.summary
    case let error as EncodingError: error.summary
    case let error as any LocalizedError: error.errorDescription ?? described
    // Foundation's own errors.
    case is any CustomNSError: localizedDescription
    default: type(of: self) is NSError.Type ? localizedDescription : described
    }
  }

  private var described: String {
    let text = String(describing: self)
    let type = "\(Swift.type(of: self))"
    return text.contains(type) ? text : "\(type).\(text)"
  }
}

extension DecodingError {
  /// Says which value does not fit, and where, but not the value itself, which may be a secret.
  var summary: String {
    switch self {
    case .keyNotFound(let key, let context):
      "there is no \"\(key.stringValue)\"\(context.codingPath.place)\(context.refusal)"
    case .valueNotFound(let type, let context):
      "null is not of type \(type)\(context.codingPath.place)\(context.refusal)"
    case .typeMismatch(let type, let context):
      "the value is not of type \(type)\(context.codingPath.place)\(context.refusal)"
    case .dataCorrupted(let context) where context.isOfTheDocument:
      context.debugDescription
    case .dataCorrupted(let context):
      "the value is not valid\(context.codingPath.place)\(context.refusal)"
    @unknown default:
      "the value does not fit"
    }
  }

  /// The same error with facts about the response. For a document that can't be parsed, these are its status and
  /// Content-Type. If only a value doesn't fit, the status is added if `validate()` would refuse it.
  func naming(_ body: BodyFacts) -> DecodingError {
    switch self {
    case .keyNotFound(let key, let context): .keyNotFound(key, context.with(body))
    case .valueNotFound(let type, let context): .valueNotFound(type, context.with(body))
    case .typeMismatch(let type, let context): .typeMismatch(type, context.with(body))
    case .dataCorrupted(let context): .dataCorrupted(context.with(body))
    @unknown default: self
    }
  }
}

extension DecodingError.Context {
  /// Whether the document as a whole can't be parsed, by the text of Foundation's decoders. The text for a single value
  /// may contain the value.
  fileprivate var isOfTheDocument: Bool {
    codingPath.isEmpty && debugDescription.hasPrefix("The given data was not")
  }

  /// The text about the status that ``with(_:)`` has appended.
  fileprivate var refusal: String {
    guard let said = debugDescription.range(of: BodyFacts.refusal, options: .backwards) else { return "" }
    return String(debugDescription[said.lowerBound...])
  }

  fileprivate func with(_ body: BodyFacts) -> Self {
    let text = isOfTheDocument ? " \(body)" : body.refusal
    return Self(
      codingPath: codingPath, debugDescription: debugDescription + text, underlyingError: underlyingError)
  }
}

extension EncodingError {
  /// Says which value can't be encoded, and where, but not the value itself.
  var summary: String {
    switch self {
    case .invalidValue(let value, let context):
      "a value of \(type(of: value)) can't be encoded\(context.codingPath.place)"
    @unknown default:
      "a value can't be encoded"
    }
  }
}

extension [any CodingKey] {
  /// The path as in ` at orders[2].price`; empty for the whole document.
  fileprivate var place: String {
    var path = ""
    for key in self {
      if let index = key.intValue {
        path += "[\(index)]"
      } else {
        path += path.isEmpty ? key.stringValue : ".\(key.stringValue)"
      }
    }
    return path.isEmpty ? "" : " at \(path)"
  }
}

/// Facts about a response whose body could not be decoded.
struct BodyFacts: CustomStringConvertible {
  let status: Int
  /// The media type without parameters.
  let contentType: String?

  init?(_ response: (some ResponseFacts)?) {
    guard let response else { return nil }
    status = response.statusCode
    contentType = response.value(forHeader: "Content-Type").map { type in
      type.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
    }
  }

  var description: String {
    "The response, status \(status), has \(contentType.map { "Content-Type \($0)" } ?? "no Content-Type"); "
      + (status < 400 ? "validate(contentType:) refuses what is not expected." : "validate() refuses such a status.")
  }

  fileprivate static let refusal = "; the response has status "

  /// Empty if `validate()` accepts the status.
  fileprivate var refusal: String { status < 400 ? "" : "\(Self.refusal)\(status), which validate() refuses" }
}

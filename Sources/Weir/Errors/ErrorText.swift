extension Error {
  /// The text of an inner error: its own words where it has some; else what it is, so that a bare enum of an adapter's
  /// says more than "error 0".
  var text: String {
    switch self {
    case let error as DecodingError: error.summary
    case let error as EncodingError: error.summary
    case let error as any LocalizedError: error.errorDescription ?? described
    // Foundation's own.
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
  /// What does not fit and where, without values of the body: they may be secrets.
  var summary: String {
    switch self {
    case .keyNotFound(let key, let context):
      "there is no \"\(key.stringValue)\"\(context.codingPath.place)\(context.refusal)"
    case .valueNotFound(let type, let context):
      "null is no \(type)\(context.codingPath.place)\(context.refusal)"
    case .typeMismatch(let type, let context):
      "the value is no \(type)\(context.codingPath.place)\(context.refusal)"
    case .dataCorrupted(let context) where context.isOfTheDocument:
      context.debugDescription
    case .dataCorrupted(let context):
      "the value is not valid\(context.codingPath.place)\(context.refusal)"
    @unknown default:
      "the value does not fit"
    }
  }

  /// The same error, which names the type of what was no such thing. Of a body that could be read, where what doesn't fit has
  /// its place, it says so when the status is that of a refusal.
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
  /// Whether the document as such can't be read, as Foundation's decoders say it. Of a value, the text may tell what it is.
  fileprivate var isOfTheDocument: Bool {
    codingPath.isEmpty && debugDescription.hasPrefix("The given data was not")
  }

  /// What ``with(_:)`` has said of the status.
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
  /// What can't be encoded and where, without the value.
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
  /// ` at orders[2].price`; nothing for the whole.
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

/// What a response says of a body that could not be read.
struct BodyFacts: CustomStringConvertible {
  let status: Int
  /// Without parameters.
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

  /// Nothing for a status that is none of a refusal.
  fileprivate var refusal: String { status < 400 ? "" : "\(Self.refusal)\(status), which validate() refuses" }
}

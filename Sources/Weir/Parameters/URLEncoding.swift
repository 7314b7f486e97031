/// Encodes parameters as `application/x-www-form-urlencoded`, into the URL or the body.
public struct URLEncoding: ParameterEncoding {
  /// The place for the parameters.
  public enum Destination: Sendable, Hashable {
    /// Into the URL for GET, HEAD and DELETE, else into the body.
    case methodDependent
    /// Into the URL.
    case queryString
    /// Into the body.
    case httpBody

    func isURL(for method: String?) -> Bool {
      switch self {
      case .methodDependent: method == "GET" || method == "HEAD" || method == "DELETE"
      case .queryString: true
      case .httpBody: false
      }
    }
  }

  /// How the key of an array's element is written.
  public enum ArrayEncoding: Sendable {
    /// `key[]`
    case brackets
    /// `key`
    case noBrackets
    /// `key[0]`
    case indexInBrackets
    /// The closure's result for key and index.
    @preconcurrency
    case custom(@Sendable (_ key: String, _ index: Int) -> String)

    func encode(_ key: String, atIndex index: Int) -> String {
      switch self {
      case .brackets: "\(key)[]"
      case .noBrackets: key
      case .indexInBrackets: "\(key)[\(index)]"
      case .custom(let encode): encode(key, index)
      }
    }
  }

  /// How a boolean is written.
  public enum BoolEncoding: Sendable, Hashable {
    /// `1` and `0`
    case numeric
    /// `true` and `false`
    case literal

    func encode(_ value: Bool) -> String {
      switch self {
      case .numeric: value ? "1" : "0"
      case .literal: value ? "true" : "false"
      }
    }
  }

  /// An encoding with method-dependent destination, brackets and numeric booleans.
  public static var `default`: URLEncoding { URLEncoding() }
  /// An encoding into the URL, whatever the method.
  public static var queryString: URLEncoding { URLEncoding(destination: .queryString) }
  /// An encoding into the body, whatever the method.
  public static var httpBody: URLEncoding { URLEncoding(destination: .httpBody) }

  private static let escaper = PercentEscaper(allowed: .weirURLQueryAllowed)

  /// The place for the parameters.
  public let destination: Destination
  /// How the keys of elements are written.
  public let arrayEncoding: ArrayEncoding
  /// How booleans are written.
  public let boolEncoding: BoolEncoding

  /// Creates an encoding.
  public init(
    destination: Destination = .methodDependent, arrayEncoding: ArrayEncoding = .brackets,
    boolEncoding: BoolEncoding = .numeric
  ) {
    self.destination = destination
    self.arrayEncoding = arrayEncoding
    self.boolEncoding = boolEncoding
  }

  public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
    var request = try urlRequest.asURLRequest()
    guard let parameters else { return request }
    guard destination.isURL(for: request.httpMethod) else {
      try QueryPlacement.setBody(Data(query(parameters).utf8), QueryPlacement.formContentType, of: &request)
      return request
    }
    guard let url = request.url, let extended = QueryPlacement.url(url, adding: query(parameters)) else {
      throw WeirError.parameterEncodingFailed(reason: .missingURL)
    }
    if !parameters.isEmpty { request.url = extended }
    return request
  }

  /// The escaped pairs of one parameter: several for dictionaries and arrays.
  public func queryComponents(fromKey key: String, value: Any) -> [(String, String)] {
    var pairs: [(String, String)] = []
    append(value, key: key, to: &pairs)
    return pairs
  }

  /// The text percent-encoded, except for `A–Z a–z 0–9 - . _ ~ / ?`.
  public func escape(_ text: String) -> String {
    Self.escaper.escape(text)
  }

  private func query(_ parameters: Parameters) -> String {
    var pairs: [(String, String)] = []
    for (key, value) in parameters.sorted(by: { $0.key < $1.key }) { append(value, key: key, to: &pairs) }
    return pairs.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
  }

  private func append(_ value: Any, key: String, to pairs: inout [(String, String)]) {
    switch value {
    case let dictionary as [String: Any]:
      for (nested, value) in dictionary.sorted(by: { $0.key < $1.key }) {
        append(value, key: "\(key)[\(nested)]", to: &pairs)
      }
    case let array as [Any]:
      for (index, value) in array.enumerated() {
        append(value, key: arrayEncoding.encode(key, atIndex: index), to: &pairs)
      }
    default:
      pairs.append((escape(key), escape(ScalarText.text(value, bool: boolEncoding))))
    }
  }
}

/// The text of a single parameter of unknown type.
enum ScalarText {
  /// Booleans as the encoding writes them, integral numbers without a fraction, everything else by its description.
  static func text(_ value: Any, bool encoding: URLEncoding.BoolEncoding) -> String {
    if let text = value as? String { return text }
    if let decimal = value as? Decimal { return decimal.description }
    // A CGFloat can't be cast to NSNumber on Linux.
    guard let number = value as? NSNumber else { return (value as? CGFloat).map { text($0.native) } ?? "\(value)" }
    // Casts to Bool succeed for any NSNumber of 0 or 1 on Linux. The Objective-C type tells booleans apart: only they
    // have "c"; small integers have "i" there.
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "c"): return encoding.encode(number.boolValue)
    case UInt8(ascii: "d"): return text(number.doubleValue)
    case UInt8(ascii: "f"): return text(number.floatValue)
    default: return number.description
    }
  }

  /// `1` for 1.0, as on Apple systems, where such a value prints as an NSNumber; `1.1` for 1.1.
  private static func text(_ value: some BinaryFloatingPoint & LosslessStringConvertible) -> String {
    Int64(exactly: value)?.description ?? value.description
  }
}

/// Parameters by name, for a ``ParameterEncoding``.
public typealias Parameters = [String: any Any & Sendable]

/// Puts a dictionary of parameters into a request.
@preconcurrency
public protocol ParameterEncoding: Sendable {
  /// The request with the parameters, or ``WeirError/parameterEncodingFailed(reason:)``.
  func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest
}

/// Encodes parameters as a JSON body, by `JSONSerialization`.
public struct JSONEncoding: ParameterEncoding {
  /// Objects that `JSONSerialization` would refuse.
  @nonexhaustive
  public enum Error: Swift.Error, Hashable {
    /// The object is neither array nor dictionary, or contains something that is not a JSON value.
    case invalidJSONObject
  }

  /// An encoding that writes compact JSON.
  public static var `default`: JSONEncoding { JSONEncoding() }
  /// An encoding that writes line breaks and indentation.
  public static var prettyPrinted: JSONEncoding { JSONEncoding(options: .prettyPrinted) }

  /// The options for `JSONSerialization`.
  public let options: JSONSerialization.WritingOptions

  /// Creates an encoding with options for `JSONSerialization`.
  public init(options: JSONSerialization.WritingOptions = []) {
    self.options = options
  }

  public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
    try encode(urlRequest, withJSONObject: parameters)
  }

  /// The request with this object, a dictionary or array, as its body; unchanged if it is nil.
  public func encode(
    _ urlRequest: any URLRequestConvertible, withJSONObject jsonObject: Any? = nil
  ) throws -> URLRequest {
    var request = try urlRequest.asURLRequest()
    guard let jsonObject else { return request }
    try QueryPlacement.setJSON(of: &request) {
      // The object is checked first: serializing an invalid one traps.
      guard JSONSerialization.isValidJSONObject(jsonObject) else { throw Error.invalidJSONObject }
      return try JSONSerialization.data(withJSONObject: jsonObject, options: options)
    }
    return request
  }
}

extension JSONEncoding.Error: LocalizedError {
  /// The text says what to change.
  public var errorDescription: String? {
    "The object holds something that is not a JSON value, or is neither an array nor a dictionary."
  }
}

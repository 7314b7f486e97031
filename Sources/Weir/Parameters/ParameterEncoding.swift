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
  /// What `JSONSerialization` would refuse.
  @nonexhaustive
  public enum Error: Swift.Error, Hashable {
    /// Neither array nor dictionary, or something in it is no JSON value.
    case invalidJSONObject
  }

  /// Compact.
  public static var `default`: JSONEncoding { JSONEncoding() }
  /// With line breaks and indentation.
  public static var prettyPrinted: JSONEncoding { JSONEncoding(options: .prettyPrinted) }

  /// What `JSONSerialization` is given.
  public let options: JSONSerialization.WritingOptions

  /// Takes what `JSONSerialization` is given.
  public init(options: JSONSerialization.WritingOptions = []) {
    self.options = options
  }

  public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
    try encode(urlRequest, withJSONObject: parameters)
  }

  /// The request with that object, dictionary or array, as its body; unchanged when it is nil.
  public func encode(
    _ urlRequest: any URLRequestConvertible, withJSONObject jsonObject: Any? = nil
  ) throws -> URLRequest {
    var request = try urlRequest.asURLRequest()
    guard let jsonObject else { return request }
    // Asked first: serializing an invalid object traps.
    guard JSONSerialization.isValidJSONObject(jsonObject) else {
      throw WeirError.parameterEncodingFailed(reason: .jsonEncodingFailed(error: Error.invalidJSONObject))
    }
    let body: Data
    do {
      body = try JSONSerialization.data(withJSONObject: jsonObject, options: options)
    } catch {
      throw WeirError.parameterEncodingFailed(reason: .jsonEncodingFailed(error: error))
    }
    try QueryPlacement.setBody(body, "application/json", of: &request)
    return request
  }
}

extension JSONEncoding.Error: LocalizedError {
  /// What to change.
  public var errorDescription: String? {
    "The object holds something that is no JSON value, or is neither array nor dictionary."
  }
}

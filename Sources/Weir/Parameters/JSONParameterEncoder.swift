public import Foundation
public import FoundationNetworking

/// Encodes a value as a JSON body.
public final class JSONParameterEncoder: ParameterEncoder {
  public static var `default`: JSONParameterEncoder { JSONParameterEncoder() }

  /// With line breaks and indentation.
  public static var prettyPrinted: JSONParameterEncoder {
    JSONParameterEncoder(formatting: .prettyPrinted)
  }

  /// With keys in order, so that equal values give equal bytes.
  public static var sortedKeys: JSONParameterEncoder {
    JSONParameterEncoder(formatting: .sortedKeys)
  }

  public let encoder: JSONEncoder

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
    do {
      request.httpBody = try encoder.encode(parameters)
    } catch {
      throw WeirError.parameterEncodingFailed(reason: .jsonEncodingFailed(error: error))
    }
    QueryPlacement.setContentType("application/json", of: &request)
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

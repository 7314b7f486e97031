import Foundation
public import FoundationNetworking

/// Encodes a value as `application/x-www-form-urlencoded`, into the URL or the body.
public final class URLEncodedFormParameterEncoder: ParameterEncoder {
  /// Where the parameters go.
  public typealias Destination = URLEncoding.Destination

  public static var `default`: URLEncodedFormParameterEncoder { URLEncodedFormParameterEncoder() }

  public let encoder: URLEncodedFormEncoder
  public let destination: Destination

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
    if belongsInURL(method) {
      guard let extended = QueryPlacement.url(url, adding: query) else { throw Self.missing(.url) }
      if !query.isEmpty { request.url = extended }
    } else {
      QueryPlacement.setBody(query, of: &request)
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

  private func belongsInURL(_ method: String) -> Bool {
    switch destination {
    case .methodDependent: QueryPlacement.belongsInURL(method)
    case .queryString: true
    case .httpBody: false
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

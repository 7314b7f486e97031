import Foundation
import FoundationNetworking

extension Session {
  /// Makes a request of a URL and a dictionary of parameters. Never throws: failures arrive at the handlers.
  public func request(
    _ url: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
    encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    requestModifier: RequestModifier? = nil
  ) -> DataRequest {
    request(
      RequestParts(url: url, method: method, headers: headers, modifier: requestModifier) {
        try encoding.encode($0, with: parameters)
      }, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
  }

  /// Makes a request of a URL and encodable parameters.
  public func request<Values: Encodable & Sendable>(
    _ url: any URLConvertible, method: HTTPMethod = .get, parameters: Values? = nil,
    encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    requestModifier: RequestModifier? = nil
  ) -> DataRequest {
    request(
      RequestParts(url: url, method: method, headers: headers, modifier: requestModifier) { urlRequest in
        guard let parameters else { return urlRequest }
        return try encoder.encode(parameters, into: urlRequest)
      }, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
  }

  /// Makes a request of a URL request. The designated maker: the others end here.
  public func request(
    _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil
  ) -> DataRequest {
    let request = DataRequest(
      convertible: convertible, context: context, interceptor: interceptor,
      shouldAutomaticallyResume: shouldAutomaticallyResume)
    if requestSetup == .eager { request.prepare() }
    return request
  }
}

/// What a request is built from, in this order: URL, method and headers; the modifier; the parameters.
private struct RequestParts: URLRequestConvertible {
  let url: any URLConvertible
  let method: HTTPMethod
  let headers: HTTPHeaders?
  let modifier: Session.RequestModifier?
  let encode: @Sendable (URLRequest) throws -> URLRequest

  func asURLRequest() throws -> URLRequest {
    var request = try URLRequest(url: url, method: method, headers: headers)
    try modifier?(&request)
    return try encode(request)
  }
}

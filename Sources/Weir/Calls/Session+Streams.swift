extension Session {
  /// Makes a request of a URL and encodable parameters. Its response is handed on in chunks. Never throws: failures
  /// arrive at the handlers.
  @preconcurrency
  public func streamRequest<Values: Encodable & Sendable>(
    _ url: any URLConvertible, method: HTTPMethod = .get, parameters: Values? = nil,
    encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
    automaticallyCancelOnStreamError: Bool = false, interceptor: (any RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil, requestModifier: RequestModifier? = nil
  ) -> DataStreamRequest {
    var encode: RequestParts.Encode?
    if let parameters { encode = { try encoder.encode(parameters, into: $0) } }
    return streamRequest(
      RequestParts(url: url, method: method, headers: headers, modifier: requestModifier, encode: encode),
      automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, interceptor: interceptor,
      shouldAutomaticallyResume: shouldAutomaticallyResume)
  }

  /// Makes a request of a URL. Its response is handed on in chunks.
  @preconcurrency
  public func streamRequest(
    _ url: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
    automaticallyCancelOnStreamError: Bool = false, interceptor: (any RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil, requestModifier: RequestModifier? = nil
  ) -> DataStreamRequest {
    streamRequest(
      RequestParts(url: url, method: method, headers: headers, modifier: requestModifier, encode: nil),
      automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, interceptor: interceptor,
      shouldAutomaticallyResume: shouldAutomaticallyResume)
  }

  /// Makes a request of a URL request. Its response is handed on in chunks. The designated method: the others call it.
  ///
  /// `automaticallyCancelOnStreamError`: Whether a chunk that can't be serialized cancels the request.
  public func streamRequest(
    _ convertible: any URLRequestConvertible, automaticallyCancelOnStreamError: Bool = false,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil
  ) -> DataStreamRequest {
    let request = DataStreamRequest(
      convertible: convertible, automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, context: context,
      interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    if requestSetup == .eager { request.prepare() }
    return request
  }
}

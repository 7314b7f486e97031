extension Session {
  /// Makes a request of a URL and a dictionary of parameters. Never throws: failures arrive at the handlers.
  @preconcurrency
  public func request(
    _ url: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
    encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    requestModifier: RequestModifier? = nil
  ) -> DataRequest {
    // Weir's own encoding is known to leave a request without parameters unchanged. It is recognized by its type, as a
    // cast would cost each request more than its locks do.
    let isEncoded = parameters != nil || type(of: encoding) != URLEncoding.self
    var encode: RequestParts.Encode?
    if isEncoded { encode = { try encoding.encode($0, with: parameters) } }
    return request(
      .parts(RequestParts(url: url, method: method, headers: headers, modifier: requestModifier, encode: encode)),
      interceptor, shouldAutomaticallyResume)
  }

  /// Makes a request of a URL and encodable parameters.
  @preconcurrency
  public func request<Values: Encodable & Sendable>(
    _ url: any URLConvertible, method: HTTPMethod = .get, parameters: Values? = nil,
    encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    requestModifier: RequestModifier? = nil
  ) -> DataRequest {
    var encode: RequestParts.Encode?
    if let parameters { encode = { try encoder.encode(parameters, into: $0) } }
    return request(
      .parts(RequestParts(url: url, method: method, headers: headers, modifier: requestModifier, encode: encode)),
      interceptor, shouldAutomaticallyResume)
  }

  /// Makes a request of a URL request.
  public func request(
    _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil
  ) -> DataRequest {
    request(.convertible(convertible), interceptor, shouldAutomaticallyResume)
  }

  private func request(
    _ source: DataRequest.Source, _ interceptor: (any RequestInterceptor)?, _ shouldAutomaticallyResume: Bool?
  ) -> DataRequest {
    let request = DataRequest(
      source: source, context: context, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    if requestSetup == .eager { request.prepare() }
    return request
  }
}

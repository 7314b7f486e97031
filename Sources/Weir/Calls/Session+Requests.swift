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
    prepared(
      DataRequest(
        source: source, context: context, interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume))
  }

  /// Returns the request, which is set up now if the session sets requests up early.
  func prepared<Kind: Request>(_ request: Kind) -> Kind {
    if requestSetup == .eager { request.prepare() }
    return request
  }

  // MARK: Streams

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
    prepared(
      DataStreamRequest(
        convertible: convertible, automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, context: context,
        interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume))
  }

  // MARK: Downloads

  /// Makes a download of a URL and a dictionary of parameters. Never throws: failures arrive at the handlers.
  ///
  /// `destination`: Returns the file's place; nil: the temporary directory, under a name of its own.
  @preconcurrency
  public func download(
    _ url: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
    encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    requestModifier: RequestModifier? = nil, to destination: DownloadRequest.Destination? = nil
  ) -> DownloadRequest {
    let parts = RequestParts(url: url, method: method, headers: headers, modifier: requestModifier) {
      try encoding.encode($0, with: parameters)
    }
    return download(
      parts, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume, to: destination)
  }

  /// Makes a download of a URL and encodable parameters.
  @preconcurrency
  public func download<Values: Encodable & Sendable>(
    _ url: any URLConvertible, method: HTTPMethod = .get, parameters: Values? = nil,
    encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    requestModifier: RequestModifier? = nil, to destination: DownloadRequest.Destination? = nil
  ) -> DownloadRequest {
    var encode: RequestParts.Encode?
    if let parameters { encode = { try encoder.encode(parameters, into: $0) } }
    return download(
      RequestParts(url: url, method: method, headers: headers, modifier: requestModifier, encode: encode),
      interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume, to: destination)
  }

  /// Makes a download of a URL request.
  @preconcurrency
  public func download(
    _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil, to destination: DownloadRequest.Destination? = nil
  ) -> DownloadRequest {
    download(.request(convertible), interceptor, shouldAutomaticallyResume, destination)
  }

  /// Makes a download that continues an earlier one, if the server still has the same file; if not, it begins anew.
  /// Resume data that can't be used makes it fail with `URLError(.cannotOpenFile)`.
  ///
  /// The URL request is rebuilt and passes through the adapters. They add the credentials, which
  /// ``DownloadRequest/resumeData`` does not hold.
  @preconcurrency
  public func download(
    resumingWith data: Data, interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    to destination: DownloadRequest.Destination? = nil
  ) -> DownloadRequest {
    download(.resumeData(data), interceptor, shouldAutomaticallyResume, destination)
  }

  /// The designated method: the others call it.
  private func download(
    _ downloadable: DownloadRequest.Downloadable, _ interceptor: (any RequestInterceptor)?,
    _ shouldAutomaticallyResume: Bool?, _ destination: DownloadRequest.Destination?
  ) -> DownloadRequest {
    prepared(
      DownloadRequest(
        downloadable: downloadable, context: context, interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume, destination: destination))
  }
}

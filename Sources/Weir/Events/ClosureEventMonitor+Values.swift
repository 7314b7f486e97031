// The callbacks with a type parameter, which a closure can't have: the value comes as `any Sendable`.
extension ClosureEventMonitor {
  /// Called for `request(_:didParseResponse:)` of ``EventMonitor`` for handlers that serialize the body.
  @preconcurrency
  public var requestDidParseValue: (@Sendable (DataRequest, DataResponse<any Sendable, WeirError>) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for `request(_:didParseResponse:)` of ``EventMonitor`` for handlers that serialize the file of a download.
  @preconcurrency
  public var requestDidParseDownloadValue:
    (@Sendable (DownloadRequest, DownloadResponse<any Sendable, WeirError>) -> Void)?
  {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didParseStream:)``.
  @preconcurrency
  public var requestDidParseStream: (@Sendable (DataStreamRequest, Result<any Sendable, WeirError>) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  public func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>) {
    requestDidParseValue?(request, response.map { $0 })
  }

  public func request<Value>(
    _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, WeirError>
  ) {
    requestDidParseDownloadValue?(request, response.map { $0 })
  }

  public func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, WeirError>) {
    requestDidParseStream?(request, result.map { $0 })
  }
}

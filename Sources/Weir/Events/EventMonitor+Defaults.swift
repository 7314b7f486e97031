public import Foundation
public import FoundationNetworking

extension EventMonitor {
  public func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?) {}
  public func urlSession(
    _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {}
  public func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) {}
  public func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics) {}
  public func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?) {}
  public func urlSession(_ session: Session, taskIsWaitingForConnectivity task: TransferTask) {}
  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse) {}
  public func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data) {}
  public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {}
  public func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError) {}
  public func request(
    _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
  ) {}
  public func request(
    _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError
  ) {}
  public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {}
  public func request(_ request: Request, didCreateTask task: TransferTask) {}
  public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {}
  public func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError) {}
  public func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?) {}
  public func request(_ request: Request, didResumeTask task: TransferTask) {}
  public func request(_ request: Request, didSuspendTask task: TransferTask) {}
  public func request(_ request: Request, didCancelTask task: TransferTask) {}
  public func requestIsRetrying(_ request: Request) {}
  public func requestDidFinish(_ request: Request) {}
  public func requestDidResume(_ request: Request) {}
  public func requestDidSuspend(_ request: Request) {}
  public func requestDidCancel(_ request: Request) {}
  public func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult
  ) {}
  public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>) {}
  public func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>) {}
  public func request(
    _ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?
  ) {}
  public func request(_ request: Request, didStartAttempt number: Int) {}
  public func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?) {}
  public func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason
  ) {}
  public func request(_ request: Request, didDenyRetry denial: RetryDenial) {}
  public func requestDidSettle(_ request: Request, outcome: RequestOutcome) {}
  public func session(_ session: Session, connectionEvent event: ConnectionEvent) {}
  public func session(_ session: Session, loopLag lag: TimeInterval) {}
}

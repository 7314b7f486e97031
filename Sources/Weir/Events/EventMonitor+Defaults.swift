public import Foundation
public import FoundationNetworking

extension EventMonitor {
  func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?) {}
  func urlSession(
    _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64) {}
  func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest) {}
  func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics) {}
  func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?) {}
  func urlSession(_ session: Session, taskIsWaitingForConnectivity task: TransferTask) {}
  func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse) {}
  func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data) {}
  func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {}
  func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError) {}
  func request(_ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest) {}
  func request(_ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError) {}
  func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {}
  func request(_ request: Request, didCreateTask task: TransferTask) {}
  func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {}
  func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError) {}
  func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?) {}
  func request(_ request: Request, didResumeTask task: TransferTask) {}
  func request(_ request: Request, didSuspendTask task: TransferTask) {}
  func request(_ request: Request, didCancelTask task: TransferTask) {}
  func requestIsRetrying(_ request: Request) {}
  func requestDidFinish(_ request: Request) {}
  func requestDidResume(_ request: Request) {}
  func requestDidSuspend(_ request: Request) {}
  func requestDidCancel(_ request: Request) {}
  func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult) {}
  func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>) {}
  func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>) {}
  func request(_ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?) {}
  func request(_ request: Request, didStartAttempt number: Int) {}
  func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?) {}
  func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason) {}
  func request(_ request: Request, didDenyRetry denial: RetryDenial) {}
  func requestDidSettle(_ request: Request, outcome: RequestOutcome) {}
  func session(_ session: Session, connectionEvent event: ConnectionEvent) {}
  func session(_ session: Session, loopLag lag: TimeInterval) {}
}

import Foundation
import FoundationNetworking
import Weir

/// Callbacks of sessions and tasks.
extension EventLog {
  func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?) {
    note("session.invalid", facts(error))
  }

  func urlSession(
    _ session: Session, task: TransferTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    note("session.didSendBodyData", "\(facts(task)) \(bytesSent) \(totalBytesSent) \(totalBytesExpectedToSend)")
  }

  func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) {
    note("session.willPerformHTTPRedirection", "\(facts(task)) \(facts(response)) → \(facts(request))")
  }

  func urlSession(_ session: Session, task: TransferTask, didReceive challenge: TransferChallenge) {
    note("session.didReceiveChallenge", facts(task))
  }

  func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics) {
    note("session.didFinishCollecting", "\(facts(task)) \(facts(metrics))")
  }

  func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?) {
    note("session.didComplete", "\(facts(task)) \(facts(error))")
  }

  func urlSession(_ session: Session, taskIsWaitingForConnectivity task: TransferTask) {
    note("session.isWaitingForConnectivity", facts(task))
  }

  func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse) {
    note("session.didReceiveResponse", "\(facts(dataTask)) \(facts(response))")
  }

  func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data) {
    note("session.didReceiveData", "\(facts(dataTask)) \(data.count)")
  }

  func urlSession(_ session: Session, dataTask: TransferTask, willCacheResponse response: CachedURLResponse) {
    note("session.willCacheResponse", "\(facts(dataTask)) \(facts(response.response))")
  }

  func urlSession(_ session: Session, taskNeedsNewBodyStream task: TransferTask) {
    note("session.needsNewBodyStream", facts(task))
  }

  func urlSession(
    _ session: Session, downloadTask: TransferTask, didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
  ) {
    note("session.didResumeAtOffset", "\(facts(downloadTask)) \(fileOffset) \(expectedTotalBytes)")
  }

  func urlSession(
    _ session: Session, downloadTask: TransferTask, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite: Int64
  ) {
    note(
      "session.didWriteData", "\(facts(downloadTask)) \(bytesWritten) \(totalBytesWritten) \(totalBytesExpectedToWrite)"
    )
  }

  func urlSession(_ session: Session, downloadTask: TransferTask, didFinishDownloadingTo location: URL) {
    note("session.didFinishDownloading", facts(downloadTask))
  }

  // MARK: What weir adds

  func session(_ session: Session, connectionEvent event: ConnectionEvent) {
    note("session.connection", "\(event.kind.rawValue) \(PortNames.hidden(event.destination))")
  }

  func session(_ session: Session, retryBudget destination: Destination, available: Double) {
    noteOnce("session.retryBudget \(PortNames.hidden(destination))")
  }

  func session(_ session: Session, circuit destination: Destination, entered state: CircuitState) {
    note("session.circuit", "\(state.rawValue) \(PortNames.hidden(destination))")
  }

  func session(_ session: Session, overload destination: Destination, entered state: OverloadState) {
    note("session.overload", "\(state.rawValue) \(PortNames.hidden(destination))")
  }

  func session(_ session: Session, overload destination: Destination, report: OverloadReport) {
    noteOnce("session.overloadReport \(PortNames.hidden(destination))")
  }

  func session(_ session: Session, pace destination: Destination, report: PauseReport) {
    noteOnce("session.paceReport \(PortNames.hidden(destination))")
  }

  func session(_ session: Session, refresh event: RefreshEvent) {
    switch event.kind {
    case .began: note("session.refresh", "\(event.interceptor) began waiters=\(event.waiters)")
    case .waiting(let change): note("session.refresh", "\(event.interceptor) \(change) waiters=\(event.waiters)")
    case .ended(_, let outcome): note("session.refresh", "\(event.interceptor) \(outcome.rawValue)")
    @unknown default: note("session.refresh", "unknown")
    }
  }
}

extension PortNames {
  /// A destination without its port, which each run chooses.
  static func hidden(_ destination: Destination) -> String { "\(destination.scheme)://\(destination.host)" }
}

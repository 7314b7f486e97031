import WeirCurl
import WeirHTTP
import WeirIO
import WeirTransport

/// One check under way. Confined to the loop.
final class CheckRun {
  private let check: EndpointCheck
  private let loop: EventLoop
  private let advice: TransferAdvice
  private var answer = CheckAnswer()
  private var transfer: (any TransferHandle)?
  private var dial: Dial?
  private let timer = LoopTimer()
  /// Nil once the check has ended.
  private var onEnd: ((CheckOutcome?) -> Void)?

  /// Begins a check.
  ///
  /// - Parameter onEnd: Hears the outcome, never from within this call; nil if it says nothing about the endpoint.
  init(
    _ spec: TransferSpec, _ terms: CheckTerms, by engines: Engines, advice: TransferAdvice,
    onEnd: @escaping (CheckOutcome?) -> Void
  ) {
    check = terms.check
    loop = engines.libcurl.loop
    self.advice = advice
    self.onEnd = onEnd
    if check.path == nil {
      dial = engines.dial(spec, receiver: self)
    } else {
      transfer = engines.start(spec, headers: terms.headers, delegate: self)
    }
    loop.schedule(timer, at: .now.advanced(bySeconds: check.timeout), handler: self)
  }

  /// Ends the check without an outcome.
  func cancel() {
    onEnd = nil
    stop()
  }

  private func stop() {
    loop.cancel(timer)
    transfer?.cancel()
    dial?.cancel()
    transfer = nil
    dial = nil
  }

  private func end(_ outcome: CheckOutcome?) {
    let tell = onEnd
    onEnd = nil
    stop()
    tell?(outcome)
  }
}

extension CheckRun: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) { end(.timedOut(after: check.timeout)) }
}

extension CheckRun: TransferDelegate {
  func transfer(_ transfer: any TransferHandle, didReceiveHead head: ResponseHead) -> Flow {
    answer.head(head.status)
    return .proceed
  }

  func transfer(_ transfer: any TransferHandle, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow {
    answer.body(bytes.count) ? .proceed : .stop
  }

  func transfer(_ transfer: any TransferHandle, didFinish error: TransferError?, report: TransferReport) {
    self.transfer = nil
    end(answer.outcome(error, good: check.statuses) ?? error.flatMap { CheckOutcome($0, advice: advice) })
  }
}

extension CheckRun: DialReceiver {
  func dial(_ dial: Dial, opened stream: SocketStream, _ report: TransferReport) {
    self.dial = nil
    stream.close()
    end(.good)
  }

  func dial(_ dial: Dial, failed error: TransferError, _ report: TransferReport) {
    self.dial = nil
    end(CheckOutcome(error, advice: advice))
  }
}

import Weir
import WeirIO
import WeirMetrics
import WeirOTLP

/// Exports one signal: does what its ``ExportMachine`` decides. Confined to the exporter's loop.
final class SignalExporter {
  /// The parts of the exporter that its signals share.
  struct Parts: Sendable {
    let loop: EventLoop
    let resource: [Attribute]
    let metrics: TelemetryMetrics
    let credential: (any RequestInterceptor)?
    let note: @Sendable (TelemetryNotice) -> Void
  }

  /// The items of a signal.
  enum Source {
    case spans(SpanQueue)
    case metrics
  }

  let signal: TelemetrySignal
  private let url: String
  private let settings: TelemetrySettings.Signal
  private let encoder: any TelemetryEncoder
  private let session: Session
  private let source: Source
  private let parts: Parts
  private var machine: ExportMachine
  private var notices: TelemetryNotices
  private let timer = LoopTimer()
  private weak var request: DataRequest?
  /// The number of spans that are under way.
  private var underWay = 0
  /// More data points than the message has that is under way.
  private var mostPoints = 0
  /// The octets of the shortest data point: its time, its value and one label.
  private static let shortestPoint = 24
  /// Called when it is over; nil if it is not to end, or has ended.
  private var onOver: (() -> Void)?
  private var isStopped = false

  init(
    _ signal: TelemetrySignal, to url: String, _ settings: TelemetrySettings.Signal, by encoder: any TelemetryEncoder,
    _ session: Session, _ source: Source, _ parts: Parts
  ) {
    (self.signal, self.url, self.settings, self.encoder) = (signal, url, settings, encoder)
    (self.session, self.source, self.parts) = (session, source, parts)
    let kind: ExportMachine.Kind = if case .spans(let queue) = source { .items(batch: queue.batch) } else { .state }
    machine = ExportMachine(kind, every: settings.interval, from: .now)
    notices = TelemetryNotices(signal)
  }

  /// Looks at what waits. Called at the beginning, and once a batch waits.
  func look(at now: MonotonicTime = .now) {
    if isStopped { return }
    var waiting = 0
    // While an export is under way, what waits stays where it is.
    if case .spans(let queue) = source, !machine.isUnderWay {
      waiting = queue.waitingCount
      tell(notices.note(.dropped, queue.takeLosses(), "they found no room in the queue", at: now))
    }
    let step = machine.step(waiting: waiting, at: now)
    // A batch that can't go is not told of again, by each span that comes.
    if case .spans(let queue) = source, step == .export || !machine.isUnderWay && waiting < queue.batch {
      queue.listen()
    }
    switch step {
    case .export: export(at: now)
    case .wait(let time): if time < .distantFuture { parts.loop.schedule(timer, at: time, handler: self) }
    case .cancel:
      request?.cancel()
      parts.loop.cancel(timer)
    case .over: close(at: now)
    }
  }

  /// Exports what waits. `onOver` is called once that is done, or at `end`; at once if it was over already.
  func finish(by end: MonotonicTime, onOver: @escaping () -> Void) {
    if let former = self.onOver {
      self.onOver = {
        former()
        onOver()
      }
    } else {
      self.onOver = onOver
    }
    machine.finish(by: end)
    look()
  }

  /// Ends without an export of what waits.
  func stop() {
    isStopped = true
    request?.cancel()
    parts.loop.cancel(timer)
  }

  private func export(at now: MonotonicTime) {
    let body: [UInt8]
    switch source {
    case .spans(let queue):
      let spans = queue.next()
      underWay = spans.reduce(0) { $0 + $1.count }
      body = encoder.message(of: spans, resource: parts.resource)
    case .metrics: body = encoder.message(ofMetrics: parts.resource)
    }
    mostPoints = body.count / Self.shortestPoint
    // While it is under way, the timer stands for the end, if there is one.
    parts.loop.cancel(timer)
    let box = LoopBound(confining: self, on: parts.loop)
    request = session.send(
      body, to: url, of: settings.endpoint, by: encoder, within: machine.limit(settings.timeout, at: now),
      credential: parts.credential
    ).response { [encoder] response in
      let outcome = OTLPOutcome(response, by: encoder)
      box.loop.run { box.value.ended(outcome, at: .now) }
    }
    look(at: now)
  }

  private func ended(_ outcome: OTLPOutcome, at now: MonotonicTime) {
    var ending = ExportMachine.Ending.answered
    let result: TelemetryMetrics.Result
    // No collector has rejected more than it got.
    let outcome = outcome.limited(to: signal == .traces ? underWay : mostPoints)
    switch outcome {
    case .taken(let rejected, _):
      result = rejected > 0 ? .partial : .success
      if rejected > 0 { parts.metrics.dropped(signal, .rejected).increment(by: rejected) }
    case .refused:
      result = .refused
      drop(.refused)
    case .failed(_, let retryAfter):
      result = .failed
      drop(machine.isCancelled ? .shutdown : .failed)
      ending = .failed(retryAfter: retryAfter)
    }
    if case .spans(let queue) = source { queue.leave(underWay) }
    underWay = 0
    if let text = outcome.text {
      tell(notices.note(.trouble, 1, text, at: now))
    } else {
      tell(notices.recovered(at: now))
      if let remark = outcome.remark { tell(notices.note(.remark, 1, remark, at: now)) }
    }
    // Last: an export that is counted has had all its effects.
    parts.metrics.exported(signal, result)
    machine.ended(ending, at: now)
    look(at: now)
  }

  private func drop(_ reason: TelemetryMetrics.Reason) {
    if underWay > 0 { parts.metrics.dropped(signal, reason).increment(by: underWay) }
  }

  private func tell(_ notice: TelemetryNotice?) { if let notice { parts.note(notice) } }

  private func close(at now: MonotonicTime) {
    parts.loop.cancel(timer)
    if case .spans(let queue) = source {
      let lost = queue.close()
      if lost > 0 { parts.metrics.dropped(signal, .shutdown).increment(by: lost) }
      tell(notices.note(.dropped, lost, "they waited at the end", at: now))
    }
    let over = onOver
    onOver = nil
    over?()
  }
}

extension SignalExporter: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) { look(at: now) }
}

import Synchronization
import WeirHTTP
import WeirIO

/// The creation of a task: the URL request, its adapters, the body.
extension RequestPipeline {
  func prepare() {
    let (step, isFirst) = request.fields.withLock { fields in
      if fields.times == nil { fields.times = RequestTimes() }
      fields.beginAttempt()
      return (fields.machine.step, fields.machine.exchange.present == 1)
    }
    if isFirst, let refusal = core.refusal { return fail(with: refusal) }
    guard let executor = request.requestExecutor ?? context.queues.request?.executor else {
      return created(Self.build(request), step)
    }
    executor { [request] in
      let result = Self.build(request)
      request.onPipeline { $0.created(result, step) }
    }
  }

  private static func build(_ request: Request) -> Result<HopRequest, WeirError> {
    Result { try request.makeHop() }.mapError { $0.asWeirError(or: .createURLRequestFailed(error: $0)) }
  }

  private func created(_ result: Result<HopRequest, WeirError>, _ step: RequestMachine.Step) {
    switch result {
    case .success(let hop):
      if admission.state == nil { admission.state = core.destination(of: hop) }
      if let header = core.configuration.announcesAttempts {
        admission.earnsRetryBudget = header.count(in: hop) == 0
      }
      let isFirst = request.fields.withLock { fields in
        fields.attempt?.initial = hop
        return fields.begin(with: destination, method: hop.method)
      }
      if isFirst {
        method = hop.method
        beginTrace(hop)
        observer?.exchangeBegan(self)
      }
      if wants(.creation) { monitors.request(request, didCreateInitialURLRequest: hop.urlRequest) }
      guard decide({ $0.isWaiting(in: step) }) else { return }
      adapt(hop, step)
    case .failure(let error):
      guard decide({ $0.isWaiting(in: step) }) else { return }
      if request.fields.withLock({ $0.begin(with: nil, method: nil) }) {
        beginTrace(nil)
        observer?.exchangeBegan(self)
      }
      creationFailed(error, step) { monitors.request(request, didFailToCreateURLRequestWithError: $0) }
    }
  }

  // MARK: Adaptation

  private func adapt(_ hop: HopRequest, _ step: RequestMachine.Step) {
    let adapters = core.adapters(of: request)
    guard !adapters.isEmpty else { return prepared(hop, step) }
    adapt(hop, by: adapters, as: decide { $0.exchange.present }, step) { $0.adaptationEnded($1, $2) }
  }

  /// Passes an attempt's URL request through the adapters. Calls `ended` with the result, unless the request moves on
  /// before.
  func adapt(
    _ hop: HopRequest, by adapters: [NamedAdapter], as number: Int, _ step: RequestMachine.Step,
    _ ended: @escaping Adaptation.Ended
  ) {
    let trace = place(of: number, hop)
    let hop = trace.map { hop.with(hop.headers.with($0)) } ?? hop
    let chain = Adaptation(
      adapters: adapters, request: request, number: number, trace: trace, step: step, ended: ended)
    if let queue = context.queues.request {
      queue.async { chain.ask(0, about: hop) }
    } else {
      chain.ask(0, about: hop)
    }
  }

  /// The adapters of one attempt. They are asked one after another, each on the thread on which the one before
  /// answered. The chain does not retain the session, so that a slow adapter does not keep a session alive.
  struct Adaptation: Sendable {
    typealias Ended = @Sendable (RequestPipeline, Result<HopRequest, any Error>, RequestMachine.Step) -> Void

    let adapters: [NamedAdapter]
    let request: Request
    let number: Int
    let trace: TraceContext?
    let step: RequestMachine.Step
    let ended: Ended

    func ask(_ index: Int, about hop: HopRequest) {
      guard let session = request.context.session else {
        return request.onPipeline { $0.fail(with: .sessionDeinitialized) }
      }
      let state = RequestAdapterState(request: request, session: session, attempt: number, traceContext: trace)
      let began = MonotonicTime.now
      let adapter = adapters[index]
      if let result = adapter.adapted(hop, using: state) {
        return answered(result, index, after: MonotonicTime.now.seconds(since: began))
      }
      let answer = SingleCall<Result<URLRequest, any Error>> { result in
        answered(result.map { HopRequest($0) }, index, after: MonotonicTime.now.seconds(since: began))
      }
      adapter.adapter.adapt(hop.urlRequest, using: state) { answer($0) }
    }

    private func answered(_ result: Result<HopRequest, any Error>, _ index: Int, after duration: TimeInterval) {
      let (isCurrent, isObserved) = request.fields.withLock { fields in
        (fields.machine.isWaiting(in: step), fields.monitors.wants([.attempts, .adaptations]))
      }
      guard isCurrent else { return }
      let report: @Sendable (RequestPipeline) -> Void = { pipeline in
        guard isObserved, pipeline.decide({ $0.isWaiting(in: step) }) else { return }
        pipeline.monitors.request(
          request, didAdaptUsing: adapters[index].name, duration: duration, failed: result.failure)
      }
      if case .success(let adapted) = result, index + 1 < adapters.count {
        if isObserved { request.onPipeline(report) }
        return ask(index + 1, about: adapted)
      }
      let result = result.flatMap { adapted in
        Result {
          try adapted.validate()
          return adapted
        }
      }
      request.onPipeline {
        report($0)
        ended($0, result, step)
      }
    }
  }

  private func adaptationEnded(_ result: Result<HopRequest, any Error>, _ step: RequestMachine.Step) {
    guard decide({ $0.isWaiting(in: step) }), let initial = request.fields.withLock({ $0.attempt?.initial })
    else { return }
    switch result {
    case .success(let adapted):
      request.fields.withLock { $0.attempt?.adapted = adapted }
      if wants(.creation) {
        monitors.request(request, didAdaptInitialRequest: initial.urlRequest, to: adapted.urlRequest)
      }
      guard decide({ $0.isWaiting(in: step) }) else { return }
      prepared(adapted, step)
    case .failure(let cause):
      creationFailed(.requestAdaptationFailed(error: cause), step) {
        monitors.request(request, didFailToAdaptURLRequest: initial.urlRequest, withError: $0)
      }
    }
  }

  /// There will be no task: tells of the error those that wait for one.
  func creationFailed(_ error: WeirError, _ step: RequestMachine.Step, tellMonitors: (WeirError) -> Void) {
    let (replaced, observers) = request.fields.withLock { fields in
      let replaced = fields.machine.state == .cancelled ? nil : fields.exchange(error: error)
      return (replaced, fields.observers?.takeWaitingForDescription() ?? [])
    }
    withExtendedLifetime(replaced) {}
    tellMonitors(error)
    request.describe(to: observers)
    perform(decide { $0.creationFailed(step) })
  }

  // MARK: The task

  private func prepared(_ hop: HopRequest, _ step: RequestMachine.Step) {
    if core.configuration.overload?.priority ?? false { admission.priority = Self.urgency(of: hop) }
    if !request.prepareBody(for: hop, step, in: self) { bodyIsReady(for: hop, step) }
  }

  private static func urgency(of hop: HopRequest) -> Int {
    let value = hop.value(forHeader: "Priority")
    return value.flatMap { $0.withOctets { Urgency.parse($0) } } ?? Urgency.standard
  }

  /// The URL request and its body are ready; makes the task.
  func bodyIsReady(for hop: HopRequest, _ step: RequestMachine.Step) {
    makeTask(for: hop) { attempt = $0 }
    perform(decide { $0.created(step) })
  }

  /// Makes an attempt's task and announces it once `keep` has stored the attempt.
  ///
  /// - Parameter rival: The number of an attempt beside the present one.
  func makeTask(for hop: HopRequest, rival: Int? = nil, _ keep: (TaskRunner) -> Void) {
    let task = TransferTask(identifier: core.nextTaskIdentifier(), request: hop, owner: request)
    // The observers that come later see the task, and are told at once.
    let (number, retryCount, ownLimit, observers) = request.fields.withLock { fields in
      let number = rival ?? fields.attempt?.number ?? 1
      fields.change(number) { $0?.task = task }
      let observers = fields.observers.map { ($0.takeWaitingForDescription(), $0.urlRequest, $0.task) }
      return (number, fields.retryCount, fields.attemptTimeout, observers)
    }
    let runner = TaskRunner(hop, number: number, retryCount: retryCount, task: task, of: self)
    runner.notes = notes(of: number, hop, isHedge: rival != nil)
    if let limit = ownLimit ?? core.configuration.attemptTimeout, limit > 0 { runner.attempt.limit(to: limit) }
    keep(runner)
    if let (descriptions, onRequest, onTask) = observers {
      request.describe(to: descriptions)
      if let onRequest { request.deliver(on: onRequest.queue) { onRequest.handler(hop.urlRequest) } }
      if let onTask { request.deliver(on: onTask.queue) { onTask.handler(task) } }
    }
    if wants(.creation) { monitors.request(request, didCreateURLRequest: hop.urlRequest) }
    monitors.request(request, didCreateTask: task)
  }

  /// Sets the error of the present stage; a cancelled request keeps its own.
  func record(_ error: WeirError) {
    let replaced = request.fields.withLock { fields in
      fields.machine.state == .cancelled ? nil : fields.exchange(error: error)
    }
    withExtendedLifetime(replaced) {}
  }
}

import Foundation
import FoundationNetworking
import Synchronization
import WeirIO

/// From nothing to a task: the URL request, its adapters, the body.
extension RequestPipeline {
  func create() {
    if let refusal = core.refusal { return fail(with: refusal) }
    let step = request.fields.withLock { fields in
      fields.attempts.append(RequestFields.Attempt())
      fields.times = RequestTimes()
      return fields.machine.step
    }
    guard let queue = context.queues.request else { return created(Self.build(request), step) }
    queue.async { [request] in
      let result = Self.build(request)
      request.onPipeline { $0.created(result, step) }
    }
  }

  private static func build(_ request: Request) -> Result<URLRequest, WeirError> {
    do {
      let urlRequest = try request.makeURLRequest()
      try urlRequest.validate()
      return .success(urlRequest)
    } catch {
      return .failure(error.asWeirError(or: .createURLRequestFailed(error: error)))
    }
  }

  private func created(_ result: Result<URLRequest, WeirError>, _ step: RequestMachine.Step) {
    switch result {
    case .success(let urlRequest):
      let destination = self.destination ?? urlRequest.url.flatMap(core.destination(of:))
      self.destination = destination
      request.fields.withLock { fields in
        fields.attempts[fields.attempts.count - 1].initial = urlRequest
        fields.begin(with: destination?.destination)
      }
      if monitors.wants(.creation) {
        monitors.send(.creation, (request, urlRequest)) { $0.request($1.0, didCreateInitialURLRequest: $1.1) }
      }
      guard decide({ $0.isWaiting(in: step) }) else { return }
      adapt(urlRequest, step)
    case .failure(let error):
      guard decide({ $0.isWaiting(in: step) }) else { return }
      record(error)
      request.fields.withLock { $0.begin(with: nil) }
      if monitors.wants(.creation) {
        monitors.send(.creation) { [request] in $0.request(request, didFailToCreateURLRequestWithError: error) }
      }
      request.describeToWaiting()
      perform(decide { $0.creationFailed(step) })
    }
  }

  // MARK: Adaptation

  private func adapt(_ urlRequest: URLRequest, _ step: RequestMachine.Step) {
    adapters.removeAll(keepingCapacity: true)
    if let interceptor = context.interceptor { collectAdapters(of: interceptor) }
    if let interceptor = request.interceptor { collectAdapters(of: interceptor) }
    guard !adapters.isEmpty else { return prepared(urlRequest, step) }
    guard let session = context.session else { return fail(with: .sessionDeinitialized) }
    let state = RequestAdapterState(request: request, session: session)
    if let queue = context.queues.request, let first = adapters.first {
      queue.async { [request] in Self.ask(first, 0, urlRequest, state, request, step) }
    } else {
      askAdapter(0, urlRequest, state, step)
    }
  }

  /// Takes an `Interceptor` apart, so that each adapter is measured by its own name.
  private func collectAdapters(of adapter: any RequestAdapter) {
    if let list = adapter as? Interceptor, type(of: list) == Interceptor.self {
      for member in list.adapters { collectAdapters(of: member) }
    } else if !(adapter is Retrier && type(of: adapter) == Retrier.self) {
      adapters.append(adapter)
    }
  }

  private func askAdapter(
    _ index: Int, _ urlRequest: URLRequest, _ state: RequestAdapterState, _ step: RequestMachine.Step
  ) {
    Self.ask(adapters[index], index, urlRequest, state, request, step)
  }

  private static func ask(
    _ adapter: any RequestAdapter, _ index: Int, _ urlRequest: URLRequest, _ state: RequestAdapterState,
    _ request: Request, _ step: RequestMachine.Step
  ) {
    let began = MonotonicTime.now
    let answer = SingleCall<Result<URLRequest, any Error>> { result in
      request.onPipeline { $0.adapterAnswered(result, index, state, began, step) }
    }
    adapter.adapt(urlRequest, using: state) { answer($0) }
  }

  private func adapterAnswered(
    _ result: Result<URLRequest, any Error>, _ index: Int, _ state: RequestAdapterState, _ began: MonotonicTime,
    _ step: RequestMachine.Step
  ) {
    guard decide({ $0.isWaiting(in: step) }), index < adapters.count else { return }
    let duration = MonotonicTime.now.seconds(since: began)
    if monitors.wants(.attempts) {
      let name = adapterName(adapters[index])
      let failure: (any Error)? = if case .failure(let error) = result { error } else { nil }
      monitors.send(.attempts) { [request] in
        $0.request(request, didAdaptUsing: name, duration: duration, failed: failure)
      }
    }
    switch result {
    case .success(let adapted) where index + 1 < adapters.count: askAdapter(index + 1, adapted, state, step)
    case .success(let adapted): adaptationEnded(Result { try adapted.validated() }, step)
    case .failure: adaptationEnded(result, step)
    }
  }

  private func adaptationEnded(_ result: Result<URLRequest, any Error>, _ step: RequestMachine.Step) {
    let initial = request.fields.withLock { $0.attempts.last?.initial }
    guard let initial else { return }
    switch result {
    case .success(let adapted):
      request.fields.withLock { $0.attempts[$0.attempts.count - 1].adapted = adapted }
      if monitors.wants(.creation) {
        monitors.send(.creation) { [request] in $0.request(request, didAdaptInitialRequest: initial, to: adapted) }
      }
      prepared(adapted, step)
    case .failure(let cause):
      let error = WeirError.requestAdaptationFailed(error: cause)
      record(error)
      if monitors.wants(.creation) {
        monitors.send(.creation) { [request] in
          $0.request(request, didFailToAdaptURLRequest: initial, withError: error)
        }
      }
      request.describeToWaiting()
      perform(decide { $0.creationFailed(step) })
    }
  }

  // MARK: The task

  private func prepared(_ urlRequest: URLRequest, _ step: RequestMachine.Step) {
    let task = TransferTask(identifier: core.nextTaskIdentifier(), request: urlRequest, owner: request)
    self.task = task
    hop = Hop(urlRequest: urlRequest)
    let observers = request.fields.withLock { fields in
      fields.attempts[fields.attempts.count - 1].task = task
      return fields.observers
    }
    if !observers.cURL.isEmpty { request.describeToWaiting() }
    if monitors.wants(.creation) {
      monitors.send(.creation) { [request] in $0.request(request, didCreateURLRequest: urlRequest) }
    }
    if let observer = observers.urlRequest {
      (observer.queue ?? request.deliveryQueue).async { observer.handler(urlRequest) }
    }
    if monitors.wants(.lifecycle) {
      monitors.send(.lifecycle) { [request] in $0.request(request, didCreateTask: task) }
    }
    if let observer = observers.task { (observer.queue ?? request.deliveryQueue).async { observer.handler(task) } }
    perform(decide { $0.created(step) })
  }

  /// Sets the error of the present stage; a cancelled request keeps its own.
  func record(_ error: WeirError) {
    request.fields.withLock { fields in
      if fields.machine.state != .cancelled { fields.error = error }
    }
  }
}

extension URLRequest {
  fileprivate func validated() throws -> URLRequest {
    try validate()
    return self
  }
}

import Foundation
import Synchronization
import Weir
import WeirExporter
import WeirMetrics

/// The Swift side of the comparison with Baseline/transfers.c: the same requests through a `Session`.
///
/// A lane is one of the CONCURRENCY chains of requests: each starts the next when its body is complete.
@main struct Transfers {
  static func main() async throws {
    let options = try Options(CommandLine.arguments)
    Usage.raiseDescriptorLimit()
    let session = try makeSession(options)
    let idle = try await holdIdle(options, session)

    let run = try Run(options, session)
    let before = Usage.now
    let began = ContinuousClock.now
    switch options.api {
    case .async: await run.tasks()
    case .closure, .inline: await run.closures()
    }
    let seconds = (ContinuousClock.now - began) / .seconds(1)
    let after = Usage.now

    run.report(seconds: seconds, before: before, after: after)
    for request in idle { request.cancel() }
    guard run.failures == 0 else { throw FailedRequests(count: run.failures, total: options.total) }
  }

  private static func makeSession(_ options: Options) throws -> Session {
    var configuration = SessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = options.concurrency + options.idle
    configuration.timeoutIntervalForRequest = 3_600
    if let authority = options.authority {
      configuration.tls.trustRoots = .file(authority)
      // libcurl 8.14.1 would ask for HTTP/2 first.
      configuration.httpVersion = .http1_1
    }
    if options.api == .inline { configuration.handlerExecution = .eventLoop }
    let monitors: [any EventMonitor] = options.metrics ? [try MetricsMonitor(registry: Registry())] : []
    return Session(
      configuration: configuration, interceptor: Interceptors.make(options.interceptor), eventMonitors: monitors)
  }

  /// Opens transfers that are never answered, and gives them time to connect.
  private static func holdIdle(_ options: Options, _ session: Session) async throws -> [DataRequest] {
    guard options.idle > 0 else { return [] }
    let requests = (0..<options.idle).map { _ in session.request(options.idleURL).response { _ in } }
    try await Task.sleep(for: .seconds(2))
    return requests
  }
}

struct FailedRequests: Error {
  var count: Int
  var total: Int
}

/// The requests of one measurement and what they took.
final class Run: Sendable {
  private let options: Options
  private let session: Session
  private let url: URL
  private let started = Atomic(0)
  private let finished = Atomic(0)
  private let failed = Atomic(0)
  private let latencies = Mutex(Latencies())

  init(_ options: Options, _ session: Session) throws {
    self.options = options
    self.session = session
    url = try options.url.asURL()
  }

  var failures: Int { failed.load(ordering: .relaxed) }

  /// One task per lane.
  func tasks() async {
    let executor: (any TaskExecutor)? = options.executor == .session ? session.executor : nil
    await withTaskGroup { group in
      for _ in 0..<options.concurrency {
        group.addTask(executorPreference: executor) { [self] in
          while takeTicket() {
            let began = ContinuousClock.now
            let result = await session.request(url).validate().serializingData().result
            record(began, result)
          }
        }
      }
    }
  }

  /// One chain of completion handlers per lane.
  func closures() async {
    await withCheckedContinuation { continuation in
      for _ in 0..<options.concurrency { next(continuation) }
    }
  }

  func report(seconds: Double, before: Usage, after: Usage) {
    let (p50, p99) = latencies.withLock { ($0.quantile(0.5), $0.quantile(0.99)) }
    let cpu = (after.cpuMicroseconds - before.cpuMicroseconds) / Double(options.total)
    print(
      "rps=\(Int(Double(options.total) / seconds))",
      "p50_us=\(p50)",
      "p99_us=\(p99)",
      "cpu_us=\(Int(cpu)).\(String(Int(cpu * 100) % 100 + 100).dropFirst())",
      "rss_kb=\(after.peakMemoryKilobytes)")
  }

  private func next(_ continuation: CheckedContinuation<Void, Never>) {
    guard takeTicket() else { return }
    let began = ContinuousClock.now
    session.request(url).validate().responseData { [self] response in
      if record(began, response.result) { continuation.resume() } else { next(continuation) }
    }
  }

  private func takeTicket() -> Bool {
    started.wrappingAdd(1, ordering: .relaxed).oldValue < options.total
  }

  /// Notes one request's latency; true for the last of all.
  @discardableResult
  private func record(_ began: ContinuousClock.Instant, _ result: WeirResult<Data>) -> Bool {
    let microseconds = Int((ContinuousClock.now - began) / .microseconds(1))
    latencies.withLock { $0.add(microseconds) }
    if case .failure = result { failed.wrappingAdd(1, ordering: .relaxed) }
    return finished.wrappingAdd(1, ordering: .relaxed).newValue == options.total
  }
}

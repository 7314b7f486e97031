public import Logging
import Synchronization
public import UnixSignals

public protocol Service: Sendable {
  func run() async throws
}

/// The shutdown of one service.
private final class Shutdown: Sendable {
  @TaskLocal static var current: Shutdown?
  private let stream = AsyncStream<Never>.makeStream()

  func begin() { stream.continuation.finish() }
  func wait() async { for await _ in stream.stream {} }
}

/// Runs `operation` in a task that is cancelled when the shutdown begins.
public func cancelWhenGracefulShutdown<Result: Sendable>(
  _ operation: @Sendable @escaping () async throws -> Result
) async rethrows -> Result {
  try await withThrowingTaskGroup(of: Result?.self) { group in
    group.addTask { try await operation() }
    group.addTask {
      await (Shutdown.current ?? Shutdown()).wait()
      return nil
    }
    var result: Result?
    while let next = try await group.next() {
      group.cancelAll()
      result = next ?? result
    }
    guard let result else { preconditionFailure("the operation returned nothing") }
    return result
  }
}

/// Runs services; on shutdown they end one after the other, the last one first.
public actor ServiceGroup: Service {
  private let services: [any Service]
  private let shutdown = Shutdown()

  public init(
    services: [any Service], gracefulShutdownSignals: [UnixSignal] = [], cancellationSignals: [UnixSignal] = [],
    logger: Logger
  ) {
    self.services = services
  }

  public func triggerGracefulShutdown() { shutdown.begin() }

  public func run() async throws {
    let running = services.map { service in
      let shutdown = Shutdown()
      let task = Task { try await Shutdown.$current.withValue(shutdown) { try await service.run() } }
      return (shutdown: shutdown, task: task)
    }
    await withTaskCancellationHandler {
      await shutdown.wait()
    } onCancel: {
      for (_, task) in running { task.cancel() }
    }
    for (shutdown, task) in running.reversed() {
      shutdown.begin()
      try await task.value
    }
  }
}

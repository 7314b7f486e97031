public import ServiceLifecycle
public import Weir
public import WeirExporter

/// A session as a service: on graceful shutdown it takes no more requests and lets those that are active end.
///
/// A group shuts its services down in the opposite order. So list the exporter first, which shows metrics up to the
/// end, then the session, then the server, whose requests need both.
public struct SessionService: Service {
  private let session: Session
  private let gracePeriod: Duration

  /// - Parameter gracePeriod: The time for which active requests may go on; then they are ended. Give it less than the
  ///   group's `maximumGracefulShutdownDuration`.
  public init(_ session: Session, gracePeriod: Duration = .seconds(30)) {
    self.session = session
    self.gracePeriod = gracePeriod
  }

  /// Cancellation, with which a group ends when another service failed, ends active requests at once.
  public func run() async throws {
    await withTaskCancellationHandler {
      await cancelWhenGracefulShutdown { [session, gracePeriod] in await session.run(gracePeriod: gracePeriod) }
    } onCancel: {
      session.invalidateAndCancel()
    }
  }
}

/// An exporter as a service: it starts with the group, and on graceful shutdown lets scrapes end.
public struct ExporterService: Service {
  private let exporter: Exporter
  private let gracePeriod: Duration

  /// - Parameter gracePeriod: The time for which scrapes that run may go on.
  public init(_ exporter: Exporter, gracePeriod: Duration = .seconds(5)) {
    self.exporter = exporter
    self.gracePeriod = gracePeriod
  }

  /// - Throws: An `ExporterError` when it can't listen at its address.
  public func run() async throws {
    try await cancelWhenGracefulShutdown { [exporter, gracePeriod] in
      try await exporter.run(gracePeriod: gracePeriod)
    }
  }
}

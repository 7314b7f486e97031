import Synchronization
import WeirCurl
import WeirIO
import WeirTestSupport
import WeirTransport

/// An engine on a loop of its own, driven from a test.
final class EngineRoom: Sendable {
  /// Seconds after which an exchange counts as one without an end.
  private static let patience = 4.0

  let counts = ConnectionCounts()
  private let loop: EventLoop
  private let engine: LoopBound<Engines>

  init(_ kind: EngineUnderTest, _ options: TransportOptions) async throws {
    let (loop, counts) = (try EventLoop(name: "engine"), counts)
    self.loop = loop
    engine = try await withCheckedThrowingContinuation { continuation in
      loop.post {
        continuation.resume(
          with: Swift.Result {
            LoopBound(confining: try kind.make(on: loop, options: options, observer: counts), on: loop)
          })
      }
    }
  }

  /// Runs an exchange to its end, and the turn of the loop in which it ended. An exchange that has no end is cancelled.
  func run(_ exchange: EngineExchange, _ spec: TransferSpec, isCut: Bool) async -> ExchangeLog.Result {
    let transfer = LoopBound<(any TransferHandle)?>(nil, on: loop)
    let patience = Task { [loop] in
      try await letPass(Self.patience)
      loop.post { transfer.value?.cancel() }
    }
    let result = await withCheckedContinuation { continuation in
      loop.post { [engine] in
        let log = ExchangeLog(exchange, isCut: isCut) { continuation.resume(returning: $0) }
        transfer.value = engine.value.start(spec, headers: PreparedHeaders(lines: exchange.fields), delegate: log)
      }
    }
    patience.cancel()
    await turn()
    return result
  }

  /// Closes the engine, and returns when all has ended.
  func close() async {
    loop.post { [engine] in engine.value.close() }
    await turn()
  }

  /// Returns after a whole turn of the loop.
  private func turn() async {
    for _ in 0..<2 {
      await withCheckedContinuation { continuation in loop.post { continuation.resume() } }
    }
  }
}

/// The connections that an engine told its observer of.
final class ConnectionCounts: TransferEngineObserver, Sendable {
  private let counts = Mutex((opened: 0, closed: 0))

  var opened: Int { counts.withLock { $0.opened } }
  var open: Int { counts.withLock { $0.opened - $0.closed } }

  func engineDidOpenConnection(tag: AnyObject?) { counts.withLock { $0.opened += 1 } }

  func engineDidCloseConnection(tag: AnyObject?) { counts.withLock { $0.closed += 1 } }
}

/// An HTTP engine whose behaviour is recorded.
enum EngineUnderTest: Sendable, CaseIterable {
  case libcurl
  /// Our own, for each request that it may run.
  case own

  /// Makes the engine; on its loop.
  func make(
    on loop: EventLoop, options: TransportOptions, observer: any TransferEngineObserver
  ) throws -> Engines {
    var options = options
    options.http1Engine = self == .own ? .own : .libcurl
    return try Engines(loop: loop, options: options, observer: observer)
  }

  /// The version that the engine's recording is of.
  var version: String {
    switch self {
    case .libcurl: CurlLibrary.version
    case .own: "own-\(CurlLibrary.version)"
    }
  }
}

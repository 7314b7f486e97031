import Dispatch
import WeirIO
import WeirMetrics
import WeirServer

/// The listening part of an exporter: its thread, its socket and its server.
final class ExporterServer: Sendable {
  let address: SocketAddress
  let loop: EventLoop
  private let server: Server

  init(_ listener: Listener, of exporter: Exporter) throws(ExporterError) {
    do throws(Errno) { loop = try EventLoop(name: "weir-exporter") } catch { throw ExporterError(error) }
    loop.post { [loop, lag = exporter.metrics.loopLag] in loop.observeLag { lag.observe($0) } }
    address = listener.address
    let options = exporter.options
    let limits = options.limits.within(descriptors: DescriptorLimit.current)
    var serverLimits = ServerLimits()
    serverLimits.connections = limits.connections
    serverLimits.headerBytes = 16 * 1024
    serverLimits.bodyBytes = 64 * 1024
    // Longer than Prometheus keeps its side open (five minutes), so that no scrape meets a connection that is being
    // closed.
    serverLimits.idleTimeout = 330
    serverLimits.stopLinger = options.stopLinger
    server = Server(
      listener: listener, loop: loop, limits: serverLimits,
      handler: ExporterHandler(exporter, on: loop, address: address, limits: limits), secure: options.secure,
      onEvent: options.onServerEvent)
    server.start()
  }

  /// Blocks until all is closed, except on the loop itself, which would wait for its own work. User code that hangs on
  /// the loop doesn't keep a process from ending.
  ///
  /// The server accepts the waiting connections before it closes the listener, because closing would reset them.
  func stop(grace: Double) {
    let grace = Self.seconds(grace)
    guard !loop.isCurrent else { return server.stop(grace: grace) }
    let closed = DispatchSemaphore(value: 0)
    server.stop(grace: grace) { closed.signal() }
    if closed.wait(timeout: .now() + grace + 5) == .timedOut { server.listener.close() }
  }

  func stop(grace: Double) async {
    await server.stop(grace: Self.seconds(grace))
  }

  /// NaN and negative numbers mean no grace.
  private static func seconds(_ grace: Double) -> Double {
    grace > 0 ? min(grace, 86_400) : 0
  }
}

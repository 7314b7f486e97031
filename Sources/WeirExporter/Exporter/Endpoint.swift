import Dispatch
import WeirIO
import WeirServer

/// The listening part of an exporter: its thread, its socket and its server.
final class Endpoint: Sendable {
  let address: SocketAddress
  let loop: EventLoop
  private let server: Server

  init(_ listener: Listener, _ site: Site) throws(ExporterError) {
    do throws(Errno) { loop = try EventLoop(name: "weir-exporter") } catch { throw ExporterError(error) }
    loop.post { [loop, metrics = site.metrics] in loop.observeLag { metrics.loopLag($0) } }
    self.address = listener.address
    let limits = site.limits.within(descriptors: DescriptorLimit.current)
    server = Server(
      listener: listener, loop: loop, limits: site.serverLimits(limits),
      handler: site.handler(on: loop, address: listener.address, limits: limits), secure: site.secure,
      onEvent: site.onServerEvent)
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

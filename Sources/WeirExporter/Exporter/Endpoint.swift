import Dispatch
import WeirIO
import WeirServer

/// An exporter that listens: its thread, its socket, its server.
final class Endpoint: Sendable {
  let address: SocketAddress
  private let loop: EventLoop
  private let server: Server

  init(_ address: SocketAddress, _ site: Site) throws(ExporterError) {
    let listener: Listener
    do throws(ListenError) { listener = try Listener(address) } catch { throw ExporterError(error) }
    do throws(Errno) { loop = try EventLoop(name: "weir-exporter") } catch { throw ExporterError(error) }
    self.address = listener.address
    server = Server(
      listener: listener, loop: loop, limits: site.serverLimits,
      handler: site.handler(on: loop, address: listener.address))
    server.start()
  }

  /// Blocks until all is closed, except on the loop itself, which would wait for its own work. User code that hangs on
  /// the loop doesn't keep a process from ending.
  func stop(grace: Double) {
    let grace = Self.seconds(grace)
    server.listener.close()
    guard !loop.isCurrent else { return server.stop(grace: grace) }
    let closed = DispatchSemaphore(value: 0)
    server.stop(grace: grace) { closed.signal() }
    _ = closed.wait(timeout: .now() + grace + 5)
  }

  func stop(grace: Double) async {
    server.listener.close()
    await server.stop(grace: Self.seconds(grace))
  }

  /// NaN and negative numbers are no grace.
  private static func seconds(_ grace: Double) -> Double {
    grace > 0 ? min(grace, 86_400) : 0
  }
}

/// httpbin, the well-known echo service, under gunicorn.
package final class HTTPBin: Sendable {
  package let port: Int
  private let peer: Peer

  package init() async throws {
    port = LoopbackPort.free()
    peer = try Peer(
      .gunicorn,
      [
        "--bind", "127.0.0.1:\(port)", "--worker-class", "gthread", "--threads", "16", "--keep-alive", "60",
        "--log-level", "warning", "httpbin:app",
      ])
    try await peer.waitForPort(port)
    // Its master listens before the worker has loaded; the first request waits for that.
    try await Tool.curl.run(["-sSf", "--max-time", "30", url("/get")])
  }

  package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}

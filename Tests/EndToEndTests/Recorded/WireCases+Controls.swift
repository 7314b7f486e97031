import Synchronization
import WeirTestSupport

extension WireGroup {
  /// Circuits, hedges and load control.
  static var controls: WireGroup {
    WireGroup(routes: controlRoutes, cases: controlled)
  }

  private static let controlRoutes = [
    WireRoute(
      "circuit", rules: "circuitBreaker: {minimumRequests: 2}",
      .answers("HTTP/1.1 500 Broken|Content-Length: 6||broken")),
    WireRoute(
      "hedged", rules: "hedge: {after: 50ms}", Script(.head, .awaitClose),
      .answers("HTTP/1.1 200 OK|Content-Length: 6||second")),
    WireRoute(
      "hedged-slowly", rules: "hedge: {after: 20s, limit: 2}", .answers("HTTP/1.1 200 OK|Content-Length: 5||first")),
    WireRoute("uncontrolled", rules: "overload: off", .answers("HTTP/1.1 200 OK|Content-Length: 2||ok")),
    WireRoute(
      "missing",
      .answers { head in
        [.send("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\n\(head.hasPrefix("HEAD") ? "" : "none")")]
      }),
  ]

  private static let controlled = [
    WireCase("a failure of two", "circuit", fields: ""),
    WireCase("the failure that opens the circuit", "circuit", fields: ""),
    WireCase("an open circuit", "circuit", fields: ""),
    WireCase("an open circuit for a HEAD", "circuit", "HEAD /x HTTP/1.1|Host: circuit.test|Connection: close||"),
    WireCase("a second attempt that wins", "hedged", fields: ""),
    WireCase(
      "a POST is not hedged", "hedged", "POST /x HTTP/1.1|Host: hedged.test|Connection: close|Content-Length: 1||a"),
    WireCase("an answer before the hedge", "hedged-slowly", fields: ""),
    WireCase("no load control", "uncontrolled", fields: ""),
    WireCase("a 404", "missing", fields: ""),
    WireCase("a HEAD of a 404", "missing", "HEAD /x HTTP/1.1|Host: missing.test|Connection: close||"),
  ]
}

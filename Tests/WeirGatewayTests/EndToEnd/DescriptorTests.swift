import Foundation
import Testing
import WeirIO
import WeirTestSupport

/// The program with few descriptors and many clients who do nothing, on both of its listeners.
@Suite(.serialized) struct DescriptorTests {
  private static let crowd = 400

  @Test(.enabled(if: ThisProcess.raiseDescriptorLimit(to: 2000), "800 clients need their descriptors"))
  func idleClientsOnEachListenerKeepNobodyOut() throws {
    let upstream = try ScriptedServer(.answering(okResponse("here")))
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("weir-\(UUID().uuidString).yml")
    defer { try? FileManager.default.removeItem(at: file) }
    try "routes: [{name: a, upstream: 'http://127.0.0.1:\(upstream.port)'}]\n".write(
      to: file, atomically: true, encoding: .utf8)
    try expectBothToAnswer(
      try WeirProcess(
        descriptors: 256, "serve", "--config.file=\(file.path)", "--gateway.listen-address=127.0.0.1:0",
        "--web.listen-address=127.0.0.1:0"),
      path: "/")
  }

  @Test(.enabled(if: ThisProcess.raiseDescriptorLimit(to: 2000), "800 clients need their descriptors"))
  func norDoesTheDemoOriginNeedMoreThanThereAre() throws {
    try expectBothToAnswer(
      try WeirProcess(
        descriptors: 256, "serve", "--gateway.listen-address=127.0.0.1:0", "--web.listen-address=127.0.0.1:0"),
      path: "/echo")
  }

  private func expectBothToAnswer(_ weir: WeirProcess, path: String) throws {
    #expect(eventually { weir.port(of: "forwarding") != nil && weir.port(of: "\"serving metrics\"") != nil })
    let ports = [weir.port(of: "forwarding") ?? 0, weir.port(of: "\"serving metrics\"") ?? 0]
    let crowd = try ports.map { port in try (0..<Self.crowd).map { _ in try RawClient(port: port) } }
    for _ in 0..<3 {
      for (port, path) in zip(ports, [path, "/metrics"]) {
        let begin = MonotonicTime.now
        let client = try RawClient(port: port)
        client.send("GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        #expect(client.response()?.status == 200, "\(path)")
        let seconds = MonotonicTime.now.seconds(since: begin)
        #expect(seconds < 15, "\(path)")
      }
    }
    #expect(crowd.joined().count == 2 * Self.crowd)
    for listener in ["gateway", "metrics"] {
      let lines = weir.text.split(separator: "\n").filter { $0.contains("listener=\(listener)") }
      #expect(lines.count == 1 && lines[0].contains("level=warn"), "\(weir.text)")
    }
    #expect(!weir.text.contains("Too many open files"))
  }
}

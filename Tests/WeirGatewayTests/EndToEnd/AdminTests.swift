import Foundation
import Testing
import WeirTestSupport

@testable import WeirGateway

/// Reload and end over HTTP, at the metrics address.
@Suite(.serialized, .timeLimit(.minutes(5))) struct AdminTests {
  private static let anyWeb = "--web.listen-address=127.0.0.1:0"
  private static let anyPort = "--gateway.listen-address=127.0.0.1:0"

  private func ask(_ method: String, _ path: String, _ weir: WeirProcess) throws -> RawClient.Response? {
    let client = try RawClient(port: weir.metricsPort ?? 0)
    client.send("\(method) \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    return client.response(toHead: method == "HEAD")
  }

  @Test func withoutTheFlagBothAreForbidden() throws {
    let weir = try WeirProcess("serve", Self.anyPort, Self.anyWeb)
    #expect(eventually { weir.metricsPort != nil })
    for path in ["/-/reload", "/-/quit"] {
      for method in ["POST", "PUT"] {
        let response = try ask(method, path, weir)
        #expect(response?.status == 403)
        #expect(response?.text == "the lifecycle is not enabled; start weir with --web.enable-lifecycle\n")
      }
      #expect(try ask("GET", path, weir)?.status == 405)
    }
    #expect(weir.exitStatus == nil)
  }

  @Test func aReloadSaysWhatCameOfIt() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("weir-\(UUID().uuidString).yml")
    defer { try? FileManager.default.removeItem(at: file) }
    func write(_ text: String) throws { try text.write(to: file, atomically: true, encoding: .utf8) }
    try write("routes: [{name: a, respond: {status: 201}}]\n")
    let weir = try WeirProcess(
      "serve", Self.anyPort, Self.anyWeb, "--web.enable-lifecycle", "--config.file=\(file.path)")
    #expect(eventually { weir.metricsPort != nil })
    func answered() throws -> Int? {
      let client = try RawClient(port: weir.port(of: "forwarding") ?? 0)
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      return client.response()?.status
    }
    for method in ["GET", "HEAD", "DELETE"] {
      let response = try ask(method, "/-/reload", weir)
      #expect(response?.status == 405)
      #expect(response?.values("Allow") == ["POST, PUT"])
    }
    try write("routes: [{name: a, respond: {status: 202}}]\n")
    let good = try ask("POST", "/-/reload", weir)
    #expect(good?.status == 200)
    #expect(good?.text == "the configuration was reloaded\n")
    #expect(try answered() == 202)
    try write("routes: [{name: a, respond: {status: 2}}]\nlisteners: []\n")
    let bad = try ask("PUT", "/-/reload", weir)
    #expect(bad?.status == 500)
    #expect(bad?.text.hasPrefix("\(file.path):1:38: routes[0].respond.status: ") == true)
    #expect(bad?.text.contains("\(file.path):2:12: listeners: holds 0 listeners") == true)
    #expect(bad?.text.hasSuffix("\nthe configuration stays as it was\n") == true)
    #expect(try answered() == 202)
    try write("routes: [{name: a, respond: {status: 203}}]\nlisteners: [{name: a, address: \"127.0.0.1:0\"}]\n")
    let both = try ask("POST", "/-/reload", weir)
    #expect(both?.status == 500)
    #expect(both?.text.contains("listeners replace --gateway.listen-address, which is given too") == true)
    #expect(try answered() == 202)
  }

  @Test func withoutAFileThereIsNothingToReload() throws {
    let weir = try WeirProcess("serve", Self.anyPort, Self.anyWeb, "--web.enable-lifecycle")
    #expect(eventually { weir.metricsPort != nil })
    let response = try ask("POST", "/-/reload", weir)
    #expect(response?.status == 500)
    #expect(response?.text.hasPrefix("there is nothing to reload") == true)
  }

  @Test func quitEndsAsSIGTERMDoes() throws {
    let weir = try WeirProcess("serve", Self.anyPort, Self.anyWeb, "--web.enable-lifecycle")
    #expect(eventually { weir.metricsPort != nil })
    let response = try ask("POST", "/-/quit", weir)
    #expect(response?.status == 200)
    #expect(eventually { weir.exitStatus != nil })
    #expect(weir.exitStatus == 0)
    #expect(weir.text.contains("draining"))
  }
}

import Testing
import WeirIO
import WeirTestSupport

@testable import WeirServer

/// What a server keeps of what it has done with.
@Suite(.serialized) struct ServerMemoryTests {
  private static let count = 400
  private static let field = "X-Large: " + String(repeating: "x", count: 31 * 1024)

  @Test(
    .enabled(if: ThisProcess.raiseDescriptorLimit(to: 1500), "both ends of 400 connections need 1,500 descriptors"),
    .enabled(if: !ThisProcess.isSanitized, "a sanitizer keeps what is freed"))
  func largeHeadsAreGivenBack() async throws {
    let limits = ServerLimits.with {
      $0.connections = 2 * Self.count
      $0.headerTimeout = 300
    }
    let rig = try ServerRig(limits: limits) { $0.respond(status: 200) }
    let clients = try (0..<Self.count).map { _ in try rig.client() }
    for client in clients { #expect(client.status(of: "GET / HTTP/1.1\r\nHost: a\r\n\r\n") == 200) }
    let before = try ThisProcess.residentBytes
    // All of them in the midst of their heads at once: this is what it takes.
    for client in clients { client.send("GET / HTTP/1.1\r\nHost: a\r\n" + Self.field) }
    try await eventually("the heads have come") {
      try ThisProcess.residentBytes > before + Self.count * 24 * 1024
    }
    for client in clients { #expect(client.status(of: "\r\n\r\n") == 200) }
    let after = try ThisProcess.residentBytes
    #expect(await rig.connectionCount() == Self.count)
    let kept = (after - before) / Self.count
    #expect(kept < 4 * 1024, "bytes for each connection that waits for its next request")
  }
}

import Foundation
import Testing
import Weir
import WeirTestSupport

@testable import WeirGateway

/// Large bodies in both directions: all bytes arrive, and the gateway holds few of them.
@Suite(.serialized) struct StreamingTests {
  static let size = 50 << 20

  @Test func downloads() throws {
    let upstream = try StreamPeer.sending(Self.size)
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    try skipHead(client)
    // A client that doesn't read stops the upstream, somewhere before the kernel's and our own buffers are many MB.
    let stalled = upstream.waitUntilStalled()
    #expect(stalled < 16 << 20)
    let before = try ThisProcess.residentBytes
    #expect(client.discard(Self.size) == Self.size)
    #expect(try ThisProcess.residentBytes - before < 16 << 20 || ThisProcess.isSanitized)
    #expect(eventually { rig.count("success") == 1 })
  }

  @Test func uploads() throws {
    let upstream = try StreamPeer.receiving(Self.size)
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(Self.size)\r\n\r\n")
    let before = try ThisProcess.residentBytes
    let chunk = [UInt8](repeating: 0x62, count: 1 << 20)
    for _ in 0..<(Self.size >> 20) { try #require(client.send(chunk)) }
    #expect(client.response()?.text == "thanks")
    #expect(upstream.moved == Self.size)
    #expect(try ThisProcess.residentBytes - before < 16 << 20 || ThisProcess.isSanitized)
  }

  @Test func aSlowUpstreamStopsTheClient() throws {
    let upstream = try StreamPeer.receiving(Self.size, startsAtOnce: false)
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(Self.size)\r\n\r\n")
    let sender = StreamPeer.pushing(Self.size, into: client)
    #expect(sender.waitUntilStalled() < 16 << 20)
    upstream.go()
    #expect(client.response()?.text == "thanks")
    #expect(upstream.moved == Self.size)
  }

  private func skipHead(_ client: RawClient) throws {
    var seen: [UInt8] = []
    while !seen.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) {
      try #require(client.read(1, into: &seen))
    }
  }

}

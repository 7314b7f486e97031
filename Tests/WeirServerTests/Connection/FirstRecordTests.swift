import Glibc
import Testing
import WeirTestSupport

@testable import WeirServer

/// The first record of a connection with TLS, which has to be whole before its handshake begins.
@Suite(.timeLimit(.minutes(5))) struct FirstRecordTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
  private let record = ScriptedChannel.Record()

  @Test(
    arguments: [
      ([], 0), ([22], 5), ([22, 3, 1, 0], 5), ([22, 3, 1, 0, 0], 5), ([22, 3, 1, 2, 1], 5 + 513),
      ([22, 3, 1, 2, 1, 9, 9], 5 + 513), ([22, 3, 1, 0x40, 0], 5 + 16384), ([22, 255, 255, 255, 255], 5 + 16384),
      ([23], 0), (Array("GET ".utf8), 0), ([0], 0), ([255, 255, 255, 255, 255, 255], 0),
    ] as [([UInt8], Int)])
  func bytes(_ seen: [UInt8], _ expected: Int) {
    #expect(seen.withUnsafeBytes { FirstRecord.bytes(by: $0) } == expected)
  }

  private func rig(connections: Int = 64) throws -> ServerRig {
    try ServerRig(
      limits: .with { ($0.handshakes, $0.connections) = (1, connections) },
      secure: { [record] in ScriptedChannel(space: 4096, record: record) },
      { $0.respond(status: 200) })
  }

  @Test func aClientThatDribblesItTakesNoPlace() async throws {
    let rig = try rig()
    let slow = try rig.client()
    for piece in [[22, 3], [1, 0, 10], [65, 66]] as [[UInt8]] {
      slow.send(piece)
      await rig.readsOn()
      let other = try rig.client()
      other.send("HELLO\n\(Self.get)")
      #expect(other.response()?.status == 200)
    }
    #expect(record.all == [.done, .done, .done])
    slow.send("12345678\n")
    #expect(slow.read(until: "ALERT\n") == "ALERT\n")
  }

  @Test func aClientThatDribblesItGivesWay() async throws {
    let rig = try rig(connections: 2)
    let good = try rig.client()
    good.send("HELLO\n\(Self.get)")
    #expect(good.response()?.status == 200)
    for number in 2..<6 {
      try rig.client().send([22] as [UInt8])
      #expect(await soon { rig.tally.accepted == number })
      // What the server has not looked at yet might be a whole record.
      await rig.readsOn()
    }
    good.send(Self.get)
    #expect(good.response()?.status == 200)
    let other = try rig.client()
    other.send("HELLO\n\(Self.get)")
    #expect(other.response()?.status == 200)
  }

  @Test func aClientThatEndsWithinItIsClosed() async throws {
    let rig = try rig()
    let client = try rig.client()
    client.send([22, 3, 1] as [UInt8])
    #expect(try await rig.waitForConnections { $0 == 1 })
    await rig.readsOn()
    client.endSending()
    #expect(client.readToEnd().text.isEmpty)
    #expect(try await rig.waitForConnections { $0 == 0 })
  }
}

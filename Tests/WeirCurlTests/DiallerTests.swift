import CSlowResolver
import Testing
import WeirTestSupport
import WeirTransport

@testable import WeirCurl
@testable import WeirHTTP1

/// TLS connections to one origin over several multi handles.
@Suite(.slow, .enabled(if: TLSUpstream.isInstalled && isOwnEngine), .timeLimit(.minutes(5)))
struct DiallerTests {
  private static let connections = 200

  /// An origin whose responses never end, and whose only byte is `1` if the handshake took up an earlier session.
  private static func url(_ upstream: TLSUpstream, _ host: String) -> String {
    upstream.url("keep", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n@")
      .replacing("127.0.0.1", with: host, maxReplacements: 1)
  }

  private static func rig() async throws -> EngineRig {
    try await EngineRig {
      $0.httpVersion = .http1_1
      $0.tls.allowsInsecureServers = true
    }
  }

  @Test(arguments: ["1.2", "1.3"])
  func multiHandlesShareNamesAndSessions(version: String) async throws {
    let upstream = try await TLSUpstream(version)
    let rig = try await Self.rig()
    let host = "many\(version.dropFirst(2)).dialler.weir.test"
    slow_resolver_add(host, 1)
    let spec = TransferSpec(url: Self.url(upstream, host))
    var running: [Running] = []
    for number in 0..<Self.connections {
      let transfer = await rig.start(spec)
      #expect(await eventually { await !transfer.soFar().body.isEmpty }, "of connection \(number)")
      running.append(transfer)
    }
    var resumed = 0
    for transfer in running where await transfer.soFar().text == "1" { resumed += 1 }
    #expect(resumed >= 190)
    #expect(slow_resolver_calls(host) == 1)
    #expect(rig.counts.value.opened == Self.connections)
    let others = await rig.onEngine { $0.own?.dialler.others.map(\.pinned.count) ?? [] }
    #expect(others == [64, 64, Self.connections - 3 * 64])
    await rig.close()
    for transfer in running { #expect(await transfer.outcome.error?.kind == .engineClosed) }
    #expect(rig.counts.open == 0)
  }

  /// Dials at the same moment wait for one lookup, whichever multi handle they belong to.
  @Test func dialsAtOnceShareALookup() async throws {
    let upstream = try await TLSUpstream()
    let rig = try await Self.rig()
    let host = "once.dialler.weir.test"
    slow_resolver_add(host, 0)
    let spec = TransferSpec(url: Self.url(upstream, host))
    var running: [Running] = []
    for _ in 0..<Self.connections { running.append(await rig.start(spec)) }
    #expect(await eventually { slow_resolver_calls(host) == 1 })
    // One whose lookup it is leaves; the others get it.
    await running[0].onTransfer { transfer, _ in transfer.cancel() }
    slow_resolver_open(host, 0)
    for transfer in running.dropFirst() { #expect(await eventually { await !transfer.soFar().body.isEmpty }) }
    #expect(slow_resolver_calls(host) == 1)
    #expect(await rig.onEngine { $0.runningLookups } == 0)
    await rig.close()
  }
}

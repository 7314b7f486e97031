import Glibc
import Synchronization
import Testing
import WeirIO
import WeirTestSupport
import WeirTransport

@testable import WeirCurl
@testable import WeirHTTP1

/// libcurl's multi handle fails, and with it the TLS connections that live in its handles.
@Suite(.slow, .enabled(if: TLSUpstream.isInstalled && isOwnEngine), .timeLimit(.minutes(5)))
struct LostMultiTests {
  private static let half = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"

  /// Sockets that are opened once others are closed, so that they have their numbers.
  private final class Successors: EventHandler, Sendable {
    private let state = Mutex((pairs: [[CInt]](), heard: Set<CInt>()))

    var descriptors: [CInt] { state.withLock { $0.pairs.flatMap(\.self) } }

    /// On the loop.
    func open(_ count: Int, on loop: EventLoop) {
      for _ in 0..<count {
        var pair: [CInt] = [0, 0]
        #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair) == 0)
        for fd in pair { #expect(throws: Never.self) { try loop.register(fd, for: .read, handler: self) } }
        state.withLock { $0.pairs.append(pair) }
      }
    }

    /// Whether all are still open, and watched.
    func areIntact() async -> Bool {
      for pair in state.withLock({ $0.pairs }) {
        for (from, to) in [(0, 1), (1, 0)] {
          guard send(pair[from], "x", 1, CInt(MSG_NOSIGNAL)) == 1 else { return false }
          guard await eventually({ state.withLock { $0.heard.contains(pair[to]) } }) else { return false }
        }
      }
      return true
    }

    /// On the loop.
    func close(on loop: EventLoop) {
      for fd in descriptors {
        loop.unregister(fd)
        Glibc.close(fd)
      }
    }

    func descriptorReady(_ fd: CInt, events: IOEvents) {
      var byte: UInt8 = 0
      guard recv(fd, &byte, 1, CInt(MSG_DONTWAIT)) == 1 else { return }
      state.withLock { _ = $0.heard.insert(fd) }
    }
  }

  @Test func itsConnectionsEndAndTheirDescriptorsAreLeftAlone() async throws {
    let upstream = try await TLSUpstream()
    let plain = try ScriptedServer(.answering(okResponse("plain")))
    let hole = try BlackHole()
    let rig = try await upstream.rig()
    #expect(await rig.get(plain.url).text == "plain")
    // One connection is idle, one is in use, one is used by a transfer that is paused, and one is being opened.
    let running = await rig.start(TransferSpec(url: upstream.url("keep", Self.half, "=")))
    #expect(await eventually { await !running.soFar().body.isEmpty })
    let paused = await rig.start(TransferSpec(url: upstream.url("keep", Self.half, "="))) {
      $0.onHead = { _, _ in .pause }
    }
    #expect(await eventually { await paused.soFar().heads.count == 1 })
    #expect(await rig.get(upstream.url("keep", okResponse("idle"))).text == "idle")
    let dialling = await rig.start(TransferSpec(url: "https://127.0.0.1:\(hole.port)/"))
    #expect(await eventually { hole.connectionCount == 1 })
    #expect(rig.counts.open == 4)

    let successors = Successors()
    let lost = await rig.onEngine { engines in
      let lost = Array(engines.libcurl.pinned.keys)
      engines.libcurl.replaceMulti()
      #expect(engines.libcurl.pinned.isEmpty)
      // Within this turn, so before the transfers have ended.
      successors.open(8, on: engines.libcurl.loop)
      return lost
    }
    #expect(lost.count == 3 && Set(lost).isSubset(of: successors.descriptors))
    for transfer in [running, paused, dialling] {
      let outcome = await transfer.outcome
      #expect(outcome.error?.kind == .engineFailed)
      #expect(outcome.finishes == 1)
    }
    #expect(rig.counts.open == 1, "the plain connection does not live in the multi handle")
    #expect(await rig.onEngine { $0.activeTransfers } == 0)
    #expect(await rig.get(plain.url).text == "plain")
    #expect(plain.connectionCount == 1)
    #expect(await rig.get(upstream.url("keep", okResponse("again"))).text == "again")

    #expect(await successors.areIntact())
    await rig.onEngine { successors.close(on: $0.libcurl.loop) }
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// As after a failure of the multi handle, when there is no memory for another one.
  @Test func withoutAnotherOneTransfersEnd() async throws {
    let upstream = try await TLSUpstream()
    let server = try ScriptedServer(.answering(okResponse("plain")))
    let rig = try await upstream.rig()
    await rig.onEngine { $0.libcurl.shutDown() }
    for url in [server.url, upstream.url("keep", okResponse("secure"))] {
      let outcome = await rig.get(url)
      #expect(outcome.error?.code == .failedInit, "\(url)")
      #expect(outcome.finishes == 1)
    }
    #expect(await rig.onEngine { $0.activeTransfers } == 0)
    #expect(server.connectionCount == 0)
    await rig.close()
  }
}

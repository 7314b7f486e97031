import CSlowResolver
import Synchronization
import Testing
import WeirCurl
import WeirIO
import WeirTestSupport
import WeirTransport

@testable import WeirHTTP1

/// Requests whose connection is being opened, while something else happens.
///
/// The server plays a proxy, so that a test decides when a connection stands.
@Suite(.timeLimit(.minutes(5)))
struct DialRaceTests {
  private static let url = "http://127.0.0.1:1/"

  private static func rig(
    _ server: ScriptedServer, _ configure: (inout TransportOptions) -> Void = { _ in }
  ) async throws -> EngineRig {
    let port = server.port
    return try await EngineRig {
      $0.proxy = .socks5(host: "127.0.0.1", port: port, credential: nil)
      configure(&$0)
    }
  }

  private static func own(_ rig: EngineRig) async -> (open: Int, idle: Int) {
    await rig.onEngine { ($0.own?.openConnections ?? 0, $0.own?.idleConnections ?? 0) }
  }

  /// A server whose first connection answers its first request when the second connection is being opened, and whose
  /// second one stands when `second` opens.
  private static func server(begun: Gate, second: Gate, _ end: Script.Step...) throws -> ScriptedServer {
    let dialled = Gate()
    return try ScriptedServer(
      Script(
        .socks5, .head, .call { begun.open() }, .wait(dialled), .send(okResponse("one")), .head,
        .send(okResponse("two")),
        .steps(end), .awaitClose),
      Script(.call { dialled.open() }, .wait(second), .socks5, .forever([.head, .send(okResponse("three"))])),
      Script(.call { Issue.record("a third connection") }, .awaitClose))
  }

  /// libcurl goes on with its own requests to the end of the turn.
  @Test(.enabled(if: isOwnEngine)) func whatWasCancelledIsNotSentOnItsOwnConnection() async throws {
    let stands = Gate()
    let server = try ScriptedServer(Script(.wait(stands), .socks5, .forever([.head, .send(okResponse("sent"))])))
    let port = server.port
    let cancelled = Mutex<Running?>(nil)
    let rig = try await EngineRig(
      { $0.proxy = .socks5(host: "127.0.0.1", port: port, credential: nil) },
      onConnection: { cancelled.withLock { $0 }?.cancelOnLoop() })
    let running = await rig.start(TransferSpec(url: Self.url))
    cancelled.withLock { $0 = running }
    stands.open()
    #expect(await running.outcome.error != nil)
    await rig.close()
    #expect(!server.receivedText().contains("GET"))
  }

  @Test(.enabled(if: isOwnEngine))
  func aConnectionBecomesIdleBeforeTheOwnOneStands() async throws {
    let (begun, second) = (Gate(), Gate())
    let server = try Self.server(begun: begun, second: second)
    let rig = try await Self.rig(server)
    let first = await rig.start(TransferSpec(url: Self.url))
    begun.wait()
    let waiting = await rig.start(TransferSpec(url: Self.url))
    #expect(await first.outcome.text == "one")
    let outcome = await waiting.outcome
    #expect(outcome.text == "two")
    let report = try #require(outcome.report)
    #expect(report.isReusedConnection)
    #expect(report.connectionsOpened == 0)
    #expect(report.staleRetries == 0)
    #expect(report.phases[.connect] == nil, "the connection that was opened is not the one that was used")
    // The transfer's own connection is opened to the end, and serves the next one.
    #expect(await Self.own(rig).open == 1)
    second.open()
    #expect(await eventually { await Self.own(rig).idle == 2 })
    let third = await rig.get(Self.url)
    #expect(third.text == "three")
    #expect(third.report?.isReusedConnection == true)
    #expect(rig.counts.value.opened == 2)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// The first one in line takes it, and not the last one.
  @Test(.enabled(if: isOwnEngine))
  func transfersTakeAConnectionInTurn() async throws {
    let (begun, answer) = (Gate(), Gate())
    let server = try ScriptedServer(
      Script(
        .socks5, .head, .call { begun.open() }, .wait(answer),
        .send(okResponse("one")), .forever([.dispatch { [.send(okResponse("\($0)"))] }])),
      Script(.awaitClose))
    let rig = try await Self.rig(server)
    let first = await rig.start(TransferSpec(url: Self.url))
    begun.wait()
    var waiting: [Running] = []
    for number in 0..<6 { waiting.append(await rig.start(TransferSpec(url: "\(Self.url)\(number)"))) }
    // One in the middle no longer waits.
    await waiting[2].onTransfer { transfer, _ in transfer.cancel() }
    answer.open()
    #expect(await first.outcome.text == "one")
    for (number, transfer) in waiting.enumerated() {
      let outcome = await transfer.outcome
      if number == 2 {
        #expect(outcome.error?.kind == .cancelled)
      } else {
        #expect(outcome.text == "GET /\(number) HTTP/1.1")
      }
    }
    let order = server.receivedText().split(separator: "\r\n").filter { $0.hasPrefix("GET /") }
    // The first request is behind the proxy's handshake.
    #expect(order == ["0", "1", "3", "4", "5"].map { "GET /\($0) HTTP/1.1" })
    await rig.close()
  }

  /// The connection that a request took over ends: a GET is sent once more, on a connection opened for that.
  @Test(.enabled(if: isOwnEngine))
  func theConnectionTakenOverIsStale() async throws {
    let (begun, dialled, second) = (Gate(), Gate(), Gate())
    let server = try ScriptedServer(
      Script(
        .socks5, .head, .call { begun.open() }, .wait(dialled), .send(okResponse("one")), .head,
        .call { second.open() }),
      Script(.call { dialled.open() }, .wait(second), .socks5, .forever([.head, .send(okResponse("two"))])))
    let rig = try await Self.rig(server)
    let first = await rig.start(TransferSpec(url: Self.url))
    begun.wait()
    let waiting = await rig.start(TransferSpec(url: Self.url))
    #expect(await first.outcome.text == "one")
    let outcome = await waiting.outcome
    #expect(outcome.text == "two", "\(outcome)")
    #expect(outcome.report?.staleRetries == 1)
    #expect(outcome.report?.isReusedConnection == false)
    #expect(outcome.finishes == 1)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// The transfer's own connection fails after another one has served it: that is heard by none.
  @Test(.enabled(if: isOwnEngine))
  func aDialOfATransferThatWasServedFails() async throws {
    let (begun, dialled, second) = (Gate(), Gate(), Gate())
    let server = try ScriptedServer(
      Script(
        .socks5, .head, .call { begun.open() }, .wait(dialled), .send(okResponse("one")),
        .forever([.head, .send(okResponse("two"))])),
      Script(.call { dialled.open() }, .wait(second)))
    let rig = try await Self.rig(server)
    let first = await rig.start(TransferSpec(url: Self.url))
    begun.wait()
    let waiting = await rig.start(TransferSpec(url: Self.url))
    #expect(await first.outcome.text == "one")
    #expect(await waiting.outcome.text == "two")
    second.open()
    #expect(await eventually { await rig.onEngine { $0.activeTransfers } == 0 })
    #expect(await waiting.onTransfer { _, recorder in recorder.outcome.finishes } == 1)
    #expect(await rig.get(Self.url).text == "two")
    #expect(rig.counts.value.opened == 1)
    await rig.close()
  }

  @Test(arguments: [false, true])
  func cancelWhileDialling(atOnce: Bool) async throws {
    let dialled = Gate()
    let server = try ScriptedServer(
      Script(.call { dialled.open() }, .awaitClose), Script(.socks5, .head, .send(okResponse("next")), .awaitClose))
    let rig = try await Self.rig(server)
    let running = await rig.start(TransferSpec(url: Self.url))
    if !atOnce { dialled.wait() }
    await running.onTransfer { transfer, _ in
      transfer.cancel()
      transfer.cancel()
    }
    let outcome = await running.outcome
    #expect(outcome.error?.kind == .cancelled)
    #expect(outcome.finishes == 1)
    #expect(await eventually { await rig.onEngine { $0.activeTransfers + $0.openConnections } == 0 })
    if !atOnce {
      #expect(await eventually { server.closedByClientCount == 1 })
      #expect(await rig.get(Self.url).text == "next")
    }
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test func cancelWhileANameIsLookedUp() async throws {
    let name = "dial-race-cancel.weir.test"
    slow_resolver_add(name, 0)
    let rig = try await EngineRig()
    let running = await rig.start(TransferSpec(url: "http://\(name)/"))
    #expect(await eventually { slow_resolver_running(name) == 1 })
    await running.onTransfer { transfer, _ in transfer.cancel() }
    let outcome = await running.outcome
    #expect(outcome.error?.kind == .cancelled)
    #expect(outcome.report?.phases[.resolve] != nil)
    #expect(outcome.report?.phases[.connect] == nil)
    slow_resolver_open(name, 1)
    await rig.close()
    #expect(await eventually { slow_resolver_running(name) == 0 })
  }

  @Test func aFailedDialIsReportedOnceWithItsPhases() async throws {
    let server = try ScriptedServer(Script(.bytes(1), .close))
    let rig = try await Self.rig(server)
    var running: [Running] = []
    for _ in 0..<20 { running.append(await rig.start(TransferSpec(url: Self.url))) }
    for transfer in running {
      let outcome = await transfer.outcome
      #expect(outcome.error?.kind == .proxyUnreachable)
      #expect(outcome.finishes == 1)
      let report = try #require(outcome.report)
      #expect(report.phases[.connect] != nil)
      #expect(report.phases[.send] == nil && report.phases[.processing] == nil)
      #expect(!report.isReusedConnection && report.staleRetries == 0)
    }
    #expect(server.connectionCount == 20)
    await rig.close()
    #expect(rig.counts.value.opened == 0)
  }

  /// Transfers that have failed are not kept in the line of those that wait.
  @Test(.enabled(if: isOwnEngine))
  func failedTransfersLeaveTheLine() async throws {
    let gone = try ScriptedServer(.answering(okResponse("x")))
    gone.stop()
    let rig = try await EngineRig()
    let url = gone.url
    for _ in 0..<3 {
      var running: [Running] = []
      for _ in 0..<10 { running.append(await rig.start(TransferSpec(url: url))) }
      for transfer in running { #expect(await transfer.outcome.error != nil) }
    }
    #expect(await rig.onEngine { $0.own?.place(of: TransferSpec(url: url))?.origin.waiting.count } == 0)
    await rig.close()
  }

  @Test func silenceWhileDialling() async throws {
    let server = try ScriptedServer(Script(.awaitClose))
    let rig = try await Self.rig(server)
    let outcome = await rig.transfer(TransferSpec(url: Self.url, silenceTimeout: 0.2))
    #expect(outcome.error?.kind == .proxyTimeout)
    #expect(outcome.finishes == 1)
    let report = try #require(outcome.report)
    #expect(report.total >= 0.2 && report.total < 5)
    #expect(report.phases[.connect] != nil)
    #expect(await eventually { server.closedByClientCount == 1 })
    await rig.close()
  }

  @Test func closeWhileDialling() async throws {
    let dialled = Gate()
    let server = try ScriptedServer(Script(.call { dialled.open() }, .awaitClose))
    let rig = try await Self.rig(server)
    var running: [Running] = []
    for _ in 0..<5 { running.append(await rig.start(TransferSpec(url: Self.url))) }
    dialled.wait()
    await rig.close()
    for transfer in running {
      let outcome = await transfer.outcome
      #expect(outcome.error?.kind == .engineClosed)
      #expect(outcome.finishes == 1)
    }
    #expect(rig.counts.open == 0)
    #expect(await eventually { server.finishedCount == server.connectionCount })
  }

  /// An origin to which a connection is being opened is not out of use, and its number in the pool is not another's.
  @Test(.enabled(if: isOwnEngine))
  func anOriginThatIsOnlyDialledKeepsItsNumber() async throws {
    let (begun, second) = (Gate(), Gate())
    let server = try Self.server(begun: begun, second: second, .close)
    let rig = try await Self.rig(server)
    let first = await rig.start(TransferSpec(url: Self.url))
    begun.wait()
    let waiting = await rig.start(TransferSpec(url: Self.url))
    #expect(await first.outcome.text == "one")
    #expect(await waiting.outcome.text == "two")
    #expect(await eventually { await Self.own(rig).open == 0 })
    // More origins than are kept out of use: the one above would make place.
    let numbers = await rig.onEngine { engines in
      (0..<3000).compactMap { engines.own?.place(of: TransferSpec(url: "http://h\($0).example/"))?.origin.number }
    }
    #expect(numbers.count == 3000)
    let number = await rig.onEngine { $0.own?.place(of: TransferSpec(url: Self.url))?.origin.number }
    #expect(number.map { !numbers.contains($0) } == true)
    second.open()
    #expect(await eventually { await Self.own(rig).idle == 1 })
    let outcome = await rig.get(Self.url)
    #expect(outcome.text == "three")
    #expect(outcome.report?.isReusedConnection == true)
    await rig.close()
  }
}

/// The limits of the engine's own pool.
@Suite(.timeLimit(.minutes(5)))
struct PoolLimitTests {
  /// Idle connections of other origins make place for a new one.
  @Test(arguments: [1, 3])
  func maximumPooledConnections(limit: Int) async throws {
    let servers = try (0..<6).map { _ in try ScriptedServer(.answering(okResponse("x"))) }
    let rig = try await EngineRig { $0.maximumPooledConnections = limit }
    for server in servers { #expect(await rig.get(server.url).text == "x") }
    #expect(await eventually { rig.counts.open == limit })
    #expect(await eventually { servers.prefix(6 - limit).allSatisfy { $0.closedByClientCount == 1 } })
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// Connections in use count, and are not closed.
  @Test func connectionsInUseCount() async throws {
    let gate = Gate()
    let busy = try ScriptedServer(Script(.head, .wait(gate), .send(okResponse("late")), .awaitClose))
    let idle = try ScriptedServer(.answering(okResponse("x")))
    let rig = try await EngineRig { $0.maximumPooledConnections = 2 }
    var running: [Running] = []
    for _ in 0..<3 { running.append(await rig.start(TransferSpec(url: busy.url))) }
    #expect(await eventually { rig.counts.open == 3 })
    #expect(await rig.get(idle.url).text == "x")
    #expect(await eventually { idle.closedByClientCount == 1 })
    gate.open()
    for transfer in running { #expect(await transfer.outcome.text == "late") }
    #expect(await eventually { rig.counts.open == 2 })
    await rig.close()
  }

  /// Idle connections are closed in time without any traffic.
  @Test func idleConnectionLifetime() async throws {
    let server = try ScriptedServer(.answering(okResponse("x")))
    let rig = try await EngineRig { $0.idleConnectionLifetime = 1 }
    let began = MonotonicTime.now
    #expect(await rig.get(server.url).text == "x")
    #expect(await eventually { rig.counts.open == 0 })
    let age = MonotonicTime.now.seconds(since: began)
    #expect(age >= 1 && age < 5)
    #expect(await eventually { server.closedByClientCount == 1 })
    #expect(await rig.get(server.url).report?.isReusedConnection == false)
    await rig.close()
  }
}

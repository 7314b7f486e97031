import Foundation
import WeirCurl
import WeirTestSupport

/// Runs one case through an engine, and writes its row.
struct EngineTrial {
  private let example: EngineCase
  private let directory: TemporaryDirectory
  private let server: ScriptedServer
  private let room: EngineRoom
  private var lines: [String] = []

  static func row(_ example: EngineCase, _ engine: EngineUnderTest) async throws -> EngineTable.Row {
    var trial = try await EngineTrial(example, engine)
    for exchange in example.exchanges { try await trial.run(exchange) }
    await trial.finish()
    return trial.row
  }

  private init(_ example: EngineCase, _ engine: EngineUnderTest) async throws {
    self.example = example
    directory = try TemporaryDirectory()
    var options = TransportOptions()
    let place: ScriptedServer.Place
    switch example.place {
    case .loopback: place = .loopback
    case .ipv6Loopback: place = .ipv6Loopback
    case .unixSocket:
      let path = try directory.file("socket")
      options.unixSocketPath = path
      place = .unixSocket(path: path)
    }
    server = try ScriptedServer(at: place, example.scripts)
    example.options(&options)
    room = try await EngineRoom(engine, options)
  }

  private mutating func run(_ exchange: EngineExchange) async throws {
    lines.append("\(exchange.method) \(exchange.url.replacing("{port}", with: "PORT")), \(exchange.body.text)")
    let result = await room.run(exchange, try spec(of: exchange), isCut: example.cutsUpload)
    lines += result.lines
    if example.timesWait { lines.append(result.report.total < 0.9 ? "at once" : "after a second") }
    exchange.atEnd?.open()
    await settle(exchange)
    let open = server.connectionCount - server.finishedCount
    lines.append("connections: engine \(room.counts.open) of \(room.counts.opened) open, peer \(open)")
  }

  /// Waits until both sides agree on the connections. Where they never do, the row shows it.
  private func settle(_ exchange: EngineExchange) async {
    if exchange.awaitsClose {
      try? await eventually("the engine has closed its connections") { room.counts.open == 0 }
    }
    try? await eventually("both sides agree", within: 10) {
      server.connectionCount >= room.counts.opened
        && server.connectionCount - server.finishedCount == room.counts.open
    }
  }

  private func spec(of exchange: EngineExchange) throws -> TransferSpec {
    var spec = TransferSpec(
      url: exchange.url.replacing("{port}", with: "\(server.port)"), target: exchange.target, method: exchange.method)
    switch exchange.body {
    case .none: break
    case .bytes(let count): spec.body = .bytes(EngineText.letters(count))
    case .file(let count):
      let bytes = EngineText.letters(exchange.fileIsCut ? count - 1 : count)
      let path = try directory.file("body", String(decoding: bytes, as: UTF8.self))
      spec.body = .file(path: path, size: Int64(count))
    case .pulled(let count, let isAnnounced, _): spec.body = .pulled(length: isAnnounced ? Int64(count) : nil)
    }
    spec.isForOneOfMany = exchange.isForOneOfMany
    return spec
  }

  /// Closes the engine, and writes down what the peer received on its connections.
  private mutating func finish() async {
    await room.close()
    try? await eventually("the peer's scripts are over") {
      server.finishedCount == server.connectionCount && server.connectionCount >= room.counts.opened
    }
    for index in 0..<server.connectionCount {
      let bytes = server.received(on: index)
      // Chance decides whether the peer still accepts a connection that the engine gives up at once.
      guard !bytes.isEmpty else { continue }
      lines.append("received on connection \(index)")
      lines +=
        example.joinsChunks
        ? EngineText.showJoined(bytes, isCut: example.cutsUpload) : EngineText.show(bytes, isCut: example.cutsUpload)
    }
  }

  private var row: EngineTable.Row {
    let text = lines.map { $0 + "\n" }.joined()
    return EngineTable.Row(
      name: example.name, text: EngineText.normalized(text, port: server.port, directory: directory.path))
  }
}

import Foundation
import Testing
import WeirTestSupport

/// Runs cases through the program, and collects the bytes on both sides and the log.
final class WireBench {
  private(set) var wire = ""
  private(set) var log = ""
  private let program: WeirProgram
  private let directory: TemporaryDirectory
  private var upstreams: [String: ScriptedServer] = [:]
  private let closing: Set<String>
  private var ports = PortNames()
  private var pseudonym = ""
  /// Lines of the log that are recorded already.
  private var loggedLines = 0
  private var expectedRequests = 0
  /// Routes that request bodies were sent to.
  private var senders: Set<String> = []

  init(_ routes: [WireRoute]) async throws {
    var yaml = "routes:\n"
    for route in routes {
      var port = 0
      if route.scripts.isEmpty {
        port = LoopbackPort.free()
      } else {
        let server = try route.startUpstream()
        upstreams[route.name] = server
        port = server.port
      }
      ports.name(route.name, port: port)
      yaml += route.yaml(port: port)
    }
    closing = Set(routes.filter(\.closes).map(\.name))
    directory = try TemporaryDirectory()
    let file = try directory.file("weir.yml", yaml)
    program = try await WeirProgram(
      ["--config.file=\(file)", "--gateway.workers=1", "--log.level=debug"], program: .shippedWeir)
    ports.name("gateway", port: program.port)
    ports.name("metrics", port: program.metricsPort)
    try await eventually("the program has said where it listens") {
      logLines.contains { $0.contains("serving metrics") }
    }
    log = "### start\n" + newLogLines().replacing(directory.path, with: "DIRECTORY")
  }

  // MARK: Cases

  func run(_ example: WireCase) async throws {
    wire += "### \(example.name)\n"
    let upstream = upstreams[example.route]
    let before = (0..<(upstream?.connectionCount ?? 0)).map { upstream?.received(on: $0).count ?? 0 }
    let clients = try play(example)
    expectedRequests += example.lines
    try await eventually("\(example.name) is logged") { requestCount >= expectedRequests }
    if let upstream, closing.contains(example.route) {
      try await eventually("connections end") { upstream.finishedCount == upstream.connectionCount }
    }
    #expect(requestCount == expectedRequests, "lines of the log in \(example.name)")
    if example.sendsBody { senders.insert(example.route) }
    record(clients, example)
    record(upstream, since: before, example)
    log += "### \(example.name)\n" + newLogLines()
  }

  /// The bytes that one connection of a client sent and received.
  private struct Transcript {
    var sent: [UInt8] = []
    var received: [UInt8] = []
    var ending: String?
  }

  private func play(_ example: WireCase) throws -> [Transcript] {
    var transcripts: [Transcript] = [Transcript()]
    var client: WireClient? = try WireClient(port: program.port)
    for step in example.steps {
      var transcript = transcripts.removeLast()
      switch step {
      case .send(let text):
        let bytes = WireCase.bytes(text.replacing("{via}", with: pseudonym))
        transcript.sent += bytes
        client?.send(bytes: bytes)
      case .read(let text):
        let mark = WireCase.bytes(text)
        _ = client?.read { $0.suffix(mark.count).elementsEqual(mark) }
      case .readToEnd: client?.readToEnd()
      case .leave:
        client = nil
        transcript.ending = "left"
      case .wait(let gate): gate.wait()
      case .open(let gate): gate.open()
      case .connect:
        if let client { finish(&transcript, client) }
        transcripts.append(transcript)
        client = try WireClient(port: program.port)
        transcript = Transcript()
      }
      if let client { transcript.received += client.take(client.bytes.count) }
      transcripts.append(transcript)
    }
    if let client { finish(&transcripts[transcripts.count - 1], client) }
    return transcripts
  }

  private func finish(_ transcript: inout Transcript, _ client: WireClient) {
    transcript.ending = transcript.ending ?? client.ending.map { "\($0)" } ?? "open"
  }

  // MARK: Recording

  private func record(_ clients: [Transcript], _ example: WireCase) {
    for (index, client) in clients.enumerated() {
      let mark = clients.count > 1 ? " \(index)" : ""
      if pseudonym.isEmpty, let match = String(decoding: client.received, as: UTF8.self).firstMatch(of: Self.pseudonyms)
      {
        pseudonym = String(match.output)
      }
      append("client\(mark) sends", client.sent, example)
      append("client\(mark) receives", client.received, example)
      wire += "client\(mark): \(client.ending ?? "open")\n"
    }
  }

  private static var pseudonyms: Regex<Substring> { #/weir-[0-9a-f]{8}/# }

  private func record(_ upstream: ScriptedServer?, since before: [Int], _ example: WireCase) {
    guard let upstream else { return }
    for index in 0..<upstream.connectionCount {
      let all = upstream.received(on: index)
      let known = index < before.count ? before[index] : 0
      if all.count > known || index >= before.count {
        append("upstream receives on connection \(index)", Array(all[known...]), example)
      }
    }
  }

  private func append(_ title: String, _ bytes: [UInt8], _ example: WireCase) {
    let text = WireText.show(bytes, joinsChunks: example.joinsChunks)
    wire += "\(title)\n" + WireText.normalized(ports.replaced(in: text))
  }

  // MARK: The log

  private static let repeated = " msg=\"more requests failed\" "

  /// The log without the lines that count repeated failures: time decides when those are written.
  private var logLines: [String] {
    program.peer.output.components(separatedBy: "\n").dropLast().filter { !$0.contains(Self.repeated) }
  }

  private var requestCount: Int {
    logLines.count { $0.contains(" msg=request ") || $0.contains(" msg=\"request refused\"") }
  }

  private func newLogLines() -> String {
    let lines = logLines.dropFirst(loggedLines)
    loggedLines += lines.count
    return lines.map { WireText.normalized(logLine: ports.replaced(in: $0)) + "\n" }.joined()
  }

  /// Records the lines that count repeated failures. The program writes each ten seconds after a route's first failure.
  func recordRepeated(_ count: Int) async throws {
    let lines = try await eventually("\(count) lines of repeated failures") {
      let lines = program.peer.output.split(separator: "\n").filter { $0.contains(Self.repeated) }
      return lines.count >= count ? lines : nil
    }
    log += "### repeated failures\n"
    log += lines.map { WireText.normalized(logLine: ports.replaced(in: String($0))) + "\n" }.sorted().joined()
  }

  // MARK: The page

  /// The page of metrics, once it does not change any more.
  func page() async throws -> String {
    var last = ""
    return try await eventually("the page is steady") {
      let page = MetricsPage.recorded(try CurlAnswer.page(program.metricsPort), ports, senders: senders)
      if page == last { return page }
      last = page
      try await letPass(0.1)
      return nil
    }
  }
}

extension CurlAnswer {
  fileprivate static func page(_ port: Int) throws -> String {
    let client = try WireClient(port: port)
    client.send("GET /metrics HTTP/1.1|Host: m|Connection: close||")
    return WireResponse(from: client, toHead: false) {}?.body ?? ""
  }
}

import Testing
import WeirTestSupport

/// All that an upstream can answer, and what a client of the program gets of it: the bytes are right, a cut response is
/// no whole one, the connection goes on or ends as it should, and the next request gets its own answer.
@Suite(.needs(.shippedWeir)) struct UpstreamTests {
  @Test(arguments: UpstreamCase.Group.allCases)
  func theClientGetsWhatIsRight(group: UpstreamCase.Group) async throws {
    let cases = group.cases
    let bench = try await UpstreamBench(cases)
    for index in cases.indices {
      try bench.run(index)
      try #require(bench.weir.peer.exitStatus == nil, "\(cases[index]): \(bench.weir.peer.output)")
    }
  }

  @Test func theTableIsLargeEnough() {
    #expect(UpstreamCase.all.count >= 120)
    #expect(Set(UpstreamCase.all.map(\.description)).count == UpstreamCase.all.count)
  }
}

/// An upstream that plays cases, and the program in front of it.
private struct UpstreamBench {
  let weir: WeirProgram
  private let upstream: ScriptedServer
  private let cases: [UpstreamCase]
  private let gates: [(seen: Gate, sent: Gate)]
  private let directory: TemporaryDirectory

  init(_ cases: [UpstreamCase]) async throws {
    self.cases = cases
    let gates = cases.map { _ in (seen: Gate(), sent: Gate()) }
    self.gates = gates
    // Made before any request waits for them: in the largest case there are millions of bytes.
    let scripts = zip(cases, gates).map { Self.steps(of: $0, $1.seen, $1.sent) }
    upstream = try ScriptedServer(
      Script(
        .forever([
          .dispatch { line in
            let path = line.split(separator: " ").dropFirst().first ?? ""
            let index = Int(path.split(separator: "/").last ?? "") ?? 0
            if path.hasPrefix("/own/") { return [.send(okResponse("own \(index)"))] }
            return scripts[index]
          }
        ])))
    directory = try TemporaryDirectory()
    let config = try directory.file(
      "weir.yml", "routes: [{name: all, upstream: \"http://127.0.0.1:\(upstream.port)\", timeout: 2s}]\n")
    weir = try await WeirProgram(["--config.file=\(config)", "--gateway.workers=1"], program: .shippedWeir)
  }

  private static func steps(of example: UpstreamCase, _ seen: Gate, _ sent: Gate) -> [Script.Step] {
    var steps: [Script.Step] = [.send(UpstreamCase.bytes(example.sends))]
    if let later = example.later {
      steps += [.wait(seen), .send(UpstreamCase.bytes(later)), .call { sent.open() }]
    }
    switch example.end {
    case .keep: break
    case .close: steps += [.close]
    case .reset: steps += [.reset]
    case .halfClose: steps += [.halfClose, .awaitClose]
    case .silence: steps += [.awaitClose]
    }
    return steps
  }

  func run(_ index: Int) throws {
    let example = cases[index]
    let client = try WireClient(port: weir.port)
    client.send("\(example.method) /case/\(index) HTTP/\(example.version)|Host: h|\(example.rest)")
    let isHead = example.method == "HEAD"
    let response = WireResponse(from: client, toHead: isHead) { gates[index].seen.open() }
    let name = Comment(rawValue: "\(example)")
    guard let response else {
      Issue.record("\(example): no response: \(String(describing: client.ending))")
      return
    }
    judge(response, example)
    if example.later != nil {
      gates[index].sent.wait()
      try turn()
    }
    // The next request: on the same connection, if that is to go on.
    let goesOn = response.isWhole && !response.saysClose && example.version == "1.1"
    if !goesOn {
      client.readToEnd()
      #expect(client.ending != .silence, name)
    }
    let next = goesOn ? client : try WireClient(port: weir.port)
    next.send("GET /own/\(index) HTTP/1.1|Host: h||")
    let own = WireResponse(from: next, toHead: false) {}
    #expect(own?.status == 200 && own?.body == "own \(index)", "\(example): \(own?.head ?? "-") \(own?.body ?? "-")")
    #expect(next.bytes.isEmpty, "\(example): \(String(decoding: next.bytes, as: UTF8.self))")
  }

  private func judge(_ response: WireResponse, _ example: UpstreamCase) {
    let text = Comment(
      rawValue: "\(example): \(response.head.prefix(200)) \(response.body.prefix(200)) \(response.isWhole)")
    #expect(response.interims == example.interims, text)
    switch example.want {
    case .whole(let head, let body): #expect(isWhole(response, head, body), text)
    case .own(let status): #expect(isOwn(response, status), text)
    case .cut(let head, let body): #expect(isCut(response, head, body), text)
    case .ownOrCut(let head, let body): #expect(isOwn(response, 502) || isCut(response, head, body), text)
    case .ownOrWhole(let head, let body): #expect(isOwn(response, 502) || isWhole(response, head, body), text)
    }
  }

  private func isWhole(_ response: WireResponse, _ head: String, _ body: String) -> Bool {
    response.isWhole && response.head == head && response.body == body && response.hasDateAndVia
  }

  private func isOwn(_ response: WireResponse, _ status: Int) -> Bool {
    response.isWhole && response.status == status && !response.hasDateAndVia
  }

  private func isCut(_ response: WireResponse, _ head: String, _ body: String) -> Bool {
    !response.isWhole && response.head == head && response.body.hasPrefix(body)
  }

  /// Has the program's loop come round once, by a request that goes nowhere.
  private func turn() throws {
    let client = try WireClient(port: weir.port)
    client.send("GET /%zz HTTP/1.1|Host: h|Connection: close||")
    client.readToEnd()
  }
}

import Testing
import Weir
import WeirTestSupport

/// How many connections nginx sees, and how many we say there are.
@Suite(.needs(.nginx)) struct ConnectionTests {
  private static let open = "http_client_open_connections"

  @Test func sequentialRequestsShareAConnection() async throws {
    let nginx = try await NginxServer(config: "location / { return 200 $connection/$connection_requests; }")
    let client = try MeasuredSession()
    var seen: [String] = []
    for _ in 0..<50 { seen.append(try await client.text(nginx.url())) }
    let connection = try #require(seen.first?.split(separator: "/").first)
    #expect(seen == (1...50).map { "\(connection)/\($0)" })
    #expect(client.sum("weir_connections_opened_total") == 1)
    #expect(client.sum("weir_connections_reused_total") == 49)
    #expect(client.sum("weir_phase_duration_seconds_count", ["phase": "connect"]) == 1)
    #expect(client.sum("weir_phase_duration_seconds_count", ["phase": "processing"]) == 50)
    #expect(client.sum(Self.open, ["http_connection_state": "idle"]) == 1)
    #expect(client.sum(Self.open, ["http_connection_state": "active"]) == 0)
  }

  @Test func openConnectionsAreCountedExactly() async throws {
    let nginx = try await NginxServer(
      config: "location / { return 200 $connection; } location /slow { limit_rate 10k; }")
    try nginx.makeFile("slow", size: 1 << 20)
    let client = try MeasuredSession {
      $0.httpMaximumConnectionsPerHost = 8
      $0.idleConnectionLifetime = 1
    }
    // The first byte has come and the rest takes seconds: eight connections are busy at once.
    let slow = (0..<8).map { _ in client.session.request(nginx.url("/slow")) }
    let responses = slow.map { $0.serializingData() }
    try await eventually("eight are active") { client.sum(Self.open, ["http_connection_state": "active"]) == 8 }
    #expect(client.sum(Self.open, ["http_connection_state": "idle"]) == 0)
    for request in slow { request.cancel() }
    for response in responses { #expect(await response.response.error?.isExplicitlyCancelledError == true) }
    #expect(client.sum(Self.open) == 0)

    let numbers = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<40 { group.addTask { try await client.text(nginx.url()) } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(Double(numbers.count) == client.sum("weir_connections_opened_total") - 8)
    try await eventually("idle connections are closed for their age") { client.sum(Self.open) == 0 }
    #expect(try await !numbers.contains(client.text(nginx.url())))
    #expect(client.sum(Self.open, ["http_connection_state": "idle"]) == 1)
  }

  @Test func aThousandRequestsSixtyFourAtATime() async throws {
    let nginx = try await NginxServer(config: "location / { return 200 \"$arg_n of $connection\"; }")
    let client = try MeasuredSession()
    let answers = try await withThrowingTaskGroup(of: (Int, String).self) { group in
      var next = 0
      func add() {
        let number = next
        next += 1
        group.addTask { (number, try await client.text(nginx.url("/?n=\(number)"))) }
      }
      for _ in 0..<64 { add() }
      var answers: [Int: String] = [:]
      while let (number, text) = try await group.next() {
        answers[number] = text
        if next < 1000 { add() }
      }
      return answers
    }
    for number in 0..<1000 { #expect(answers[number]?.hasPrefix("\(number) of ") == true) }
    let connections = Set(answers.values.compactMap { $0.split(separator: " ").last })
    #expect(connections.count <= 64)
    // A request takes what comes first, its own connection or an idle one. So another may be the first on its connection,
    // and counts as one that reuses it, or nobody has come to use it yet.
    let opened = client.sum("weir_connections_opened_total")
    #expect((Double(connections.count)...64).contains(opened))
    #expect((Double(1000 - connections.count)..<1000).contains(client.sum("weir_connections_reused_total")))
    #expect(client.sum("weir_requests_total", ["outcome": "success"]) == 1000)
    #expect(client.sum("weir_request_attempts_bucket", ["le": "1.0"]) == 1000)
    #expect(client.sum("weir_requests_in_flight") == 0)
    #expect(client.sum("http_client_active_requests") == 0)
    #expect(client.sum(Self.open, ["http_connection_state": "idle"]) == opened)
  }

  @Test func aWorkerKilledInTheMiddleOfABodyIsALostConnection() async throws {
    let nginx = try await NginxServer(
      config: "location / { return 200 again; } location /slow { limit_rate 10k; }")
    try nginx.makeFile("slow", size: 1 << 20)
    let client = try MeasuredSession()
    let request = client.session.request(nginx.url("/slow"))
    let task = request.serializingData()
    try await eventually("the body has begun") { (request.task?.countOfBytesReceived ?? 0) > 0 }
    try nginx.killWorker()
    let response = await task.response
    #expect(response.urlErrorCode == .networkConnectionLost, "\(response)")
    #expect(response.statusCode == 200)
    #expect(client.sum("weir_requests_total", ["outcome": "transport_error"]) == 1)
    #expect(client.sum(Self.open) == 0)
    // Its successor serves us.
    #expect(try await client.text(nginx.url()) == "again")
  }

  @Test func aPooledConnectionThatTheServerClosedCostsNobodyAnError() async throws {
    let nginx = try await NginxServer(config: "location / { return 200 $connection; }")
    let client = try MeasuredSession()
    for round in 1...5 {
      #expect(try await !client.text(nginx.url()).isEmpty)
      try nginx.killWorker()
      #expect(client.sum("weir_connections_opened_total") == Double(round))
    }
    #expect(try await !client.text(nginx.url()).isEmpty)
    #expect(client.sum("weir_requests_total", ["outcome": "success"]) == 6)
    #expect(client.sum("weir_retries_total") == 0)
    #expect(client.sum(Self.open) == 1)
  }

  @Test func aServerThatIsGoneCannotBeConnectedTo() async throws {
    let client = try MeasuredSession()
    let response = await client.get("http://127.0.0.1:\(LoopbackPort.free())/")
    #expect(response.urlErrorCode == .cannotConnectToHost, "\(response)")
    #expect(client.sum("weir_requests_total", ["outcome": "transport_error"]) == 1)
    #expect(client.sum(Self.open) == 0)
  }
}

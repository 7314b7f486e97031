import Foundation
import Glibc
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// A gateway in some trouble, which is a Prometheus job of its own, and the requests that come to it.
final class Outage: Sendable {
  let job: String
  let metricsPort: Int
  private let weir: WeirProgram?
  private let work: Task<Void, any Error>

  deinit { work.cancel() }

  private init(
    job: String, metricsPort: Int, _ weir: WeirProgram? = nil, _ work: @escaping @Sendable () async throws -> Void
  ) {
    self.job = job
    self.metricsPort = metricsPort
    self.weir = weir
    self.work = Task { try await work() }
  }

  private static func program(
    _ route: String, _ more: String = "", level: String = "error", port: Int? = nil, metricsPort: Int? = nil
  ) async throws -> (
    WeirProgram, config: String, TemporaryDirectory
  ) {
    let directory = try TemporaryDirectory()
    let config = try directory.file("weir.yml", "routes: [{name: all, operations: [\"/**\"], \(route)}]\n\(more)\n")
    let weir = try await WeirProgram(
      ["--config.file=\(config)", "--log.level=\(level)"], program: .shippedWeir, port: port, metricsPort: metricsPort)
    return (weir, config, directory)
  }

  /// Sends requests at a rate, whatever becomes of them, until it is cancelled.
  ///
  /// - Parameter patience: Seconds after which a caller leaves.
  private static func send(
    _ perSecond: Double, to url: String, headers: [HTTPHeaders] = [[:]], patience: Double = 60
  ) async throws {
    var configuration = SessionConfiguration()
    configuration.timeoutIntervalForResource = patience
    let session = Session(configuration: configuration)
    var number = 0
    while true {
      try Task.checkCancellation()
      let fields = headers[number % headers.count]
      number += 1
      Task { _ = await session.request(url, headers: fields).serializingData(automaticallyCancelling: false).response }
      try await letPass(1 / perSecond)
    }
  }

  /// A gateway whose requests come at a rate, of fields by turns; `keep` lives as long.
  private static func steady(
    _ job: String, _ route: String, _ more: String = "", perSecond: Double, headers: [HTTPHeaders] = [[:]],
    keep: any Sendable
  ) async throws -> Outage {
    let (weir, _, directory) = try await program(route, more)
    return Outage(job: job, metricsPort: weir.metricsPort) {
      defer { withExtendedLifetime((weir, directory, keep)) {} }
      try await send(perSecond, to: weir.url("/"), headers: headers)
    }
  }

  // MARK: What can go wrong

  /// Nobody listens where the upstream was.
  static func dead(_ job: String, perSecond: Double) async throws -> Outage {
    try await steady(job, "upstream: \"http://127.0.0.1:\(LoopbackPort.free())\"", perSecond: perSecond, keep: 0)
  }

  /// Each answer comes later than the route's timeout.
  static func slow(_ job: String, perSecond: Double) async throws -> Outage {
    let server = try ScriptedServer(Script(.head, .awaitClose))
    return try await steady(
      job, "upstream: \"http://127.0.0.1:\(server.port)\", timeout: 200ms", perSecond: perSecond, keep: server)
  }

  private static let unavailable = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"

  /// All is answered 503, and callers say of two requests in three that they are retries.
  static func retriedByCallers(_ job: String, perSecond: Double) async throws -> Outage {
    let server = try ScriptedServer(.answering(unavailable))
    return try await steady(
      job, "upstream: \"http://127.0.0.1:\(server.port)\"", perSecond: perSecond,
      headers: [[:], ["X-Retry-Attempt": "1"], ["X-Retry-Attempt": "2"]], keep: server)
  }

  /// All is answered 503, and the gateway would try everything four times.
  static func stormy(_ job: String, perSecond: Double) async throws -> Outage {
    let server = try ScriptedServer(.answering(unavailable))
    return try await steady(
      job, "upstream: \"http://127.0.0.1:\(server.port)\", retry: {limit: 3, statusCodes: [503]}", perSecond: perSecond,
      keep: server)
  }

  /// All would be well, but that the token service refuses the gateway's secret.
  static func withoutToken(_ job: String, perSecond: Double) async throws -> Outage {
    let body = #"{"error": "invalid_client"}"#
    let tokens = try ScriptedServer(
      .answering { "HTTP/1.1 401 Unauthorized\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)" })
    let server = try ScriptedServer(.answering(okResponse("well")))
    let service = "tokenURL: \"http://127.0.0.1:\(tokens.port)/\", clientID: a, clientSecret: wrong"
    return try await steady(
      job, "upstream: \"http://127.0.0.1:\(server.port)\", credential: payments",
      "credentials: [{name: payments, oauth2: {\(service)}}]", perSecond: perSecond, keep: [tokens, server])
  }

  /// All is well, but that the gateway is killed time and again and started anew at once.
  static func killed(_ job: String, every seconds: Double, perSecond: Double) async throws -> Outage {
    let server = try ScriptedServer(.answering(okResponse("well")))
    let route = "upstream: \"http://127.0.0.1:\(server.port)\""
    let first = try await program(route)
    let (port, metricsPort, url) = (first.0.port, first.0.metricsPort, first.0.url("/"))
    return Outage(job: job, metricsPort: metricsPort) {
      var current = first
      let load = Task { try await send(perSecond, to: url) }
      defer { withExtendedLifetime(server) { load.cancel() } }
      while true {
        try await letPass(seconds)
        current.0.peer.send(signal: SIGKILL)
        _ = try await current.0.peer.waitForExit()
        do {
          current = try await program(route, port: port, metricsPort: metricsPort)
        } catch {
          if Task.isCancelled { return }
          Issue.record("a gateway does not start again: \(error)")
          throw error
        }
      }
    }
  }

  /// All is well, but that the configuration file has been spoilt before a reload.
  static func misconfigured(_ job: String, perSecond: Double) async throws -> Outage {
    let server = try ScriptedServer(.answering(okResponse("well")))
    let (weir, config, directory) = try await program("upstream: \"http://127.0.0.1:\(server.port)\"")
    return Outage(job: job, metricsPort: weir.metricsPort) {
      defer { withExtendedLifetime((directory, server)) {} }
      try "routes: [{name: all}]\n".write(toFile: config, atomically: true, encoding: .utf8)
      weir.peer.send(signal: SIGHUP)
      try await send(perSecond, to: weir.url("/"))
    }
  }

  // MARK: What load control is for

  /// An upstream that ceases to answer after a while in which all was well. Callers leave after two seconds.
  static func hung(_ job: String, perSecond: Double) async throws -> Outage {
    let answers = Counter()
    let server = try ScriptedServer(
      Script(
        .forever([
          .route { _ in answers.next() < Int(perSecond * 5) ? [.send(okResponse("well"))] : [.awaitClose] }
        ])))
    return try await impatient(job, port: server.port, perSecond: perSecond, keep: server)
  }

  /// An upstream that does one request after another, each in 50 ms.
  static func busy(_ job: String, perSecond: Double) async throws -> Outage {
    let origin = try SlowOrigin(seconds: 0.05)
    return try await impatient(job, port: origin.port, perSecond: perSecond, keep: origin)
  }

  /// An upstream that answers 429 to `ofTen` of each ten requests.
  static func limited(_ job: String, ofTen: Int, perSecond: Double) async throws -> Outage {
    let answers = Counter()
    let server = try ScriptedServer(
      .answering {
        let isLimited = answers.next() % 10 < ofTen
        return isLimited ? "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n" : okResponse("well")
      })
    return try await impatient(job, port: server.port, perSecond: perSecond, keep: server)
  }

  private static func impatient(
    _ job: String, port: Int, perSecond: Double, keep: any Sendable
  ) async throws -> Outage {
    let (weir, _, directory) = try await program("upstream: \"http://127.0.0.1:\(port)\"", level: "info")
    return Outage(job: job, metricsPort: weir.metricsPort, weir) {
      defer { withExtendedLifetime((weir, directory, keep)) {} }
      try await send(perSecond, to: weir.url("/"), patience: 2)
    }
  }

  private final class Counter: Sendable {
    private let value = Atomic(0)

    func next() -> Int { value.wrappingAdd(1, ordering: .relaxed).oldValue }
  }

  /// The lines of the gateway about its upstream and its callers.
  var lines: [String] {
    (weir?.peer.output ?? "").split(separator: "\n").map(String.init).filter {
      $0.contains("msg=\"upstream ") || $0.contains("msg=\"callers gave up\"") || $0.contains("level=warn")
    }
  }
}

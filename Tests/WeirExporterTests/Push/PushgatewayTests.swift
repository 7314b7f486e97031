import Synchronization
import Testing
import WeirTestSupport

@testable import WeirExporter

@Suite struct PushgatewayTests {
  @Test(arguments: [
    ("backup", [:], "/metrics/job/backup"),
    ("backup", ["instance": "db-1.internal", "a": "b"], "/metrics/job/backup/a/b/instance/db-1.internal"),
    ("a b", [:], "/metrics/job@base64/YSBi"), ("/var/tmp", [:], "/metrics/job@base64/L3Zhci90bXA"),
    ("job", ["path": "/var", "empty": ""], "/metrics/job/job/empty@base64/=/path@base64/L3Zhcg"),
    ("j", ["v": ".."], "/metrics/job/j/v@base64/Li4"), ("j", ["v": "."], "/metrics/job/j/v@base64/Lg"),
    ("j", ["v": "..."], "/metrics/job/j/v/..."), ("j", ["v": "100%"], "/metrics/job/j/v@base64/MTAwJQ"),
    ("j", ["v": "ä?#"], "/metrics/job/j/v@base64/w6Q_Iw"), ("j", ["v": "~~~>>>"], "/metrics/job/j/v@base64/fn5-Pj4-"),
  ])
  func groupsArePaths(job: String, grouping: [String: String], path: String) throws {
    #expect(try Pushgateway("http://h", job: job, grouping: grouping).path() == path)
  }

  @Test(arguments: [
    ("", [:], "the job must not be empty"), ("j", ["job": "x"], "\"job\" can't be a label of the group"),
    ("j", ["": "x"], "\"\" can't be a label of the group"),
    ("j", ["a-b": "x"], "\"a-b\" can't be a label of the group"),
    ("j", ["1a": "x"], "\"1a\" can't be a label of the group"),
    ("j", ["a/b": "x"], "\"a/b\" can't be a label of the group"),
    ("j", ["__name__": "x"], "\"__name__\" can't be a label of the group"),
    ("j", ["le": "x"], "\"le\" can't be a label of the group"),
  ])
  func groupsThatCannotBe(job: String, grouping: [String: String], problem: String) async throws {
    let exporter = try Exporter(listenAddress: "127.0.0.1:0")
    let gateway = Pushgateway("http://127.0.0.1:1", job: job, grouping: grouping)
    let error = await #expect(throws: PushError.self) { try await exporter.push(to: gateway) }
    #expect(error?.code == .invalidGroup)
    #expect(error?.description == problem)
  }

  @Test(arguments: ["", "push.internal:9091", "ftp://h", "http://", "http://h?a=b", "http://h/#a", "unix:/tmp/x"])
  func urlsThatCannotBe(url: String) async throws {
    let exporter = try Exporter(listenAddress: "127.0.0.1:0")
    let error = await #expect(throws: PushError.self) { try await exporter.push(to: Pushgateway(url, job: "j")) }
    #expect(error?.code == .invalidURL, "\(url)")
  }

  @Test func nobodyThere() async throws {
    let exporter = try Exporter(listenAddress: "127.0.0.1:0")
    // A port that is never listened on.
    let gateway = Pushgateway("http://127.0.0.1:1", job: "j")
    let error = await #expect(throws: PushError.self) { try await exporter.push(to: gateway, .replacingMetrics) }
    #expect(error?.code == .unreachable)
    #expect(error?.underlyingError != nil)
  }

  /// The statuses of a gateway's answers, one after the other; the last one from then on.
  private final class Answers: Sendable {
    private let statuses: Mutex<[Int]>
    private let asked = Mutex(0)

    init(_ statuses: [Int]) { self.statuses = Mutex(statuses) }

    var count: Int { asked.withLock { $0 } }

    func next() -> String {
      asked.withLock { $0 += 1 }
      let status = statuses.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
      return "HTTP/1.1 \(status) X\r\nContent-Length: 6\r\n\r\nsorry\n"
    }
  }

  @Test func aGatewayThatIsBusyIsAskedAgain() async throws {
    let answers = Answers([503, 202])
    let server = try ScriptedServer(.answering { answers.next() })
    let exporter = try Exporter(listenAddress: "127.0.0.1:0")
    try await exporter.push(to: Pushgateway(server.url, job: "j"))
    #expect(answers.count == 2)
  }

  @Test(arguments: [([503], Exporter.PushMode.replacingMetrics, 1), ([503, 400], .replacingGroup, 2)])
  func refusalsAreTold(statuses: [Int], mode: Exporter.PushMode, count: Int) async throws {
    let answers = Answers(statuses)
    let server = try ScriptedServer(.answering { answers.next() })
    let exporter = try Exporter(listenAddress: "127.0.0.1:0")
    let error = await #expect(throws: PushError.self) {
      try await exporter.push(to: Pushgateway(server.url, job: "j"), mode)
    }
    #expect(error?.code == .refused)
    #expect(error?.statusCode == statuses.last)
    #expect(error?.description == "the Pushgateway answered \(statuses.last ?? 0): sorry")
    #expect(answers.count == count)
  }

  @Test func refusalsTellWhatTheGatewaySaid() {
    let answer = Array("pushed metrics are invalid:\nx\n".utf8)
    let error = PushError.refused(status: 400, answer: answer)
    #expect(error.description == "the Pushgateway answered 400: pushed metrics are invalid: x")
    #expect(error.statusCode == 400)
    #expect(PushError.refused(status: 502, answer: []).description == "the Pushgateway answered 502")
    #expect(PushError.refused(status: 502, answer: Array(repeating: 65, count: 5000)).description.count < 1100)
  }
}

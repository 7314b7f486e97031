import Synchronization
import Testing
import WeirCurl
import WeirTestSupport

/// Many requests to an upstream that closes each connection after one to five responses, every other time without a
/// word.
@Suite(.slow, .timeLimit(.minutes(5)))
struct RandomClosingTests {
  private static let count = ThisProcess.isSanitized ? 1_000 : 10_000

  /// Requests sent, lost, and executed by the upstream.
  private final class Tally: Sendable {
    private struct Counts {
      var begun = 0
      var lost = 0
      var executed: [String: Int] = [:]
    }

    private let counts = Mutex(Counts())

    /// The number of the next request; nil at the end.
    func next() -> Int? {
      counts.withLock { counts in
        counts.begun += 1
        return counts.begun <= count ? counts.begun : nil
      }
    }

    func noteLost() { counts.withLock { $0.lost += 1 } }

    func noteExecuted(_ mark: String) { counts.withLock { $0.executed[mark, default: 0] += 1 } }

    func executions(_ mark: String) -> Int { counts.withLock { $0.executed[mark, default: 0] } }

    var lost: Int { counts.withLock { $0.lost } }

    var mostExecutions: Int { counts.withLock { $0.executed.values.max() ?? 0 } }
  }

  private static func script(_ random: inout SeededRandom, _ tally: Tally) -> Script {
    let (responses, isTold) = (Int.random(in: 1...5, using: &random), Bool.random(using: &random))
    let steps = (1...responses).map { number in
      Script.Step.dispatch { line in
        let mark = String(line.split(separator: " ")[1].dropFirst())
        if line.hasPrefix("POST") { tally.noteExecuted(mark) }
        return [.send(okResponse(mark, isTold && number == responses ? "Connection: close\r\n" : ""))]
      }
    }
    return Script(.steps(steps))
  }

  @Test func noRequestFailsAndNoPostIsExecutedTwice() async throws {
    let tally = Tally()
    var random = SeededRandom(seed: 1)
    let server = try ScriptedServer(at: .loopback, (0..<Self.count).map { _ in Self.script(&random, tally) })
    let (rig, url) = (try await EngineRig(), server.url)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<16 {
        group.addTask {
          while let number = tally.next() { await Self.request(number, url, rig, tally) }
        }
      }
    }
    #expect(tally.mostExecutions == 1)
    #expect(tally.lost < Self.count / 10)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  private static func request(_ number: Int, _ url: String, _ rig: EngineRig, _ tally: Tally) async {
    let isPost = number % 4 == 0
    let spec = TransferSpec(
      url: "\(url)\(number)", method: isPost ? "POST" : "GET", body: isPost ? .bytes([1]) : .none)
    let outcome = await rig.transfer(spec)
    #expect(outcome.finishes == 1)
    if isPost, outcome.error?.kind == .connectionLost { return tally.noteLost() }
    #expect(outcome.text == "\(number)", "\(outcome)")
    if isPost { #expect(tally.executions("\(number)") == 1) }
  }
}

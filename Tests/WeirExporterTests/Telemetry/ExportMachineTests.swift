import Testing
import WeirIO
import WeirTestSupport

@testable import WeirExporter

@Suite struct ExportMachineTests {
  private static func at(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1).advanced(bySeconds: seconds)
  }

  private func spans(batch: Int = 10) -> ExportMachine {
    ExportMachine(.items(batch: batch), every: 5, from: Self.at(0))
  }

  @Test func whatWaitsGoesWhenItIsDue() {
    var machine = spans()
    #expect(machine.step(waiting: 0, at: Self.at(0)) == .wait(until: Self.at(5)))
    #expect(machine.step(waiting: 9, at: Self.at(4.9)) == .wait(until: Self.at(5)))
    #expect(machine.step(waiting: 9, at: Self.at(5)) == .export)
    #expect(machine.isUnderWay)
    machine.ended(.answered, at: Self.at(6))
    #expect(machine.step(waiting: 1, at: Self.at(6)) == .wait(until: Self.at(10)))
    #expect(machine.step(waiting: 0, at: Self.at(10)) == .wait(until: Self.at(15)))
  }

  @Test func aBatchGoesAtOnceAndOneAtATime() {
    var machine = spans()
    #expect(machine.step(waiting: 10, at: Self.at(1)) == .export)
    #expect(machine.step(waiting: 100, at: Self.at(9)) == .wait(until: .distantFuture))
    machine.ended(.answered, at: Self.at(9))
    #expect(machine.step(waiting: 90, at: Self.at(9)) == .export)
  }

  @Test func afterAFailureABatchWaitsUntilItIsDue() {
    var machine = spans()
    #expect(machine.step(waiting: 10, at: Self.at(1)) == .export)
    machine.ended(.failed(retryAfter: nil), at: Self.at(2))
    #expect(machine.step(waiting: 100, at: Self.at(2)) == .wait(until: Self.at(7)))
    #expect(machine.step(waiting: 100, at: Self.at(7)) == .export)
    machine.ended(.answered, at: Self.at(8))
    #expect(machine.step(waiting: 90, at: Self.at(8)) == .export)
  }

  @Test func thePauseOfACollectorIsKept() {
    var machine = spans()
    #expect(machine.step(waiting: 10, at: Self.at(1)) == .export)
    machine.ended(.failed(retryAfter: 30), at: Self.at(2))
    #expect(machine.step(waiting: 100, at: Self.at(2)) == .wait(until: Self.at(32)))
    #expect(machine.step(waiting: 100, at: Self.at(20)) == .wait(until: Self.at(32)))
    #expect(machine.step(waiting: 100, at: Self.at(32)) == .export)
  }

  @Test func finishingExportsAllThatWaits() {
    var machine = spans()
    machine.finish(by: Self.at(6))
    #expect(machine.step(waiting: 12, at: Self.at(1)) == .export)
    #expect(machine.step(waiting: 12, at: Self.at(1)) == .wait(until: Self.at(6)))
    #expect(machine.limit(30, at: Self.at(1)) == 5)
    machine.ended(.failed(retryAfter: nil), at: Self.at(2))
    #expect(machine.step(waiting: 2, at: Self.at(2)) == .export)
    machine.ended(.answered, at: Self.at(3))
    #expect(machine.step(waiting: 0, at: Self.at(3)) == .over)
  }

  @Test func finishingEndsInTime() {
    var machine = spans()
    #expect(machine.step(waiting: 12, at: Self.at(5)) == .export)
    machine.finish(by: Self.at(6))
    #expect(machine.step(waiting: 2, at: Self.at(6)) == .cancel)
    #expect(machine.step(waiting: 2, at: Self.at(6)) == .wait(until: .distantFuture))
    machine.ended(.failed(retryAfter: nil), at: Self.at(6))
    #expect(machine.isCancelled)
    #expect(machine.step(waiting: 2, at: Self.at(6)) == .over)
  }

  @Test func aPauseBeyondTheEndIsNotWaitedFor() {
    var machine = spans()
    #expect(machine.step(waiting: 10, at: Self.at(1)) == .export)
    machine.ended(.failed(retryAfter: 30), at: Self.at(2))
    machine.finish(by: Self.at(7))
    #expect(machine.step(waiting: 10, at: Self.at(2)) == .over)
  }

  @Test func aStateGoesWhenItIsDueAndOnceAtTheEnd() {
    var machine = ExportMachine(.state, every: 60, from: Self.at(0))
    #expect(machine.step(waiting: 0, at: Self.at(0)) == .wait(until: Self.at(60)))
    #expect(machine.step(waiting: 0, at: Self.at(61)) == .export)
    machine.finish(by: Self.at(70))
    machine.ended(.answered, at: Self.at(62))
    #expect(machine.step(waiting: 0, at: Self.at(62)) == .export)
    machine.ended(.answered, at: Self.at(63))
    #expect(machine.step(waiting: 0, at: Self.at(63)) == .over)
  }

  /// Whatever happens, there is one export at a time, none in a pause, and it comes to its end in time.
  @Test(arguments: 0..<20) func anyOrder(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var machine = spans()
    var time = 0.0, waiting = 0, pause = 0.0, isUnderWay = false, end: Double?
    for round in 0..<2000 {
      time += Double.random(in: 0...2, using: &random)
      waiting += Int.random(in: 0...8, using: &random)
      if round == 1900 {
        end = time + 10
        machine.finish(by: Self.at(time + 10))
      }
      switch machine.step(waiting: waiting, at: Self.at(time)) {
      case .export:
        #expect(!isUnderWay && time >= pause && waiting > 0)
        isUnderWay = true
        waiting = max(0, waiting - 10)
      case .wait(let until):
        #expect(until > Self.at(time))
        guard isUnderWay, Bool.random(using: &random) else { break }
        let wish = Bool.random(using: &random) ? Double.random(in: 0...20, using: &random) : nil
        isUnderWay = false
        if Bool.random(using: &random) {
          machine.ended(.answered, at: Self.at(time))
        } else {
          machine.ended(.failed(retryAfter: wish), at: Self.at(time))
          if let wish { pause = time + wish }
        }
      case .cancel:
        #expect(isUnderWay && end.map { time >= $0 } == true)
        isUnderWay = false
        machine.ended(.failed(retryAfter: nil), at: Self.at(time))
      case .over:
        #expect(end != nil && !isUnderWay)
        return
      }
    }
    Issue.record("it is never over")
  }
}

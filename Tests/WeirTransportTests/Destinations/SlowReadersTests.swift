import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

@Suite("Slow readers")
struct SlowReadersTests {
  private func reader(_ recent: Int) -> SlowReader { SlowReader(recent: recent) {} }

  @Test("The one that took least is the slowest; among equal ones, the one that came first")
  func slowest() {
    var readers = SlowReaders()
    let all = [5, 3, 9, 3, 0].map(reader)
    for each in all { readers.add(each) }
    #expect(readers.count == 5)
    all[4].recent = 7
    for expected in [1, 3, 0, 4, 2] { #expect(readers.removeSlowest() === all[expected]) }
    #expect(readers.removeSlowest() == nil)
    readers.add(all[0])
    readers.remove(all[0])
    readers.remove(all[0])
    #expect(readers.count == 0)
  }

  @Test("A response that drains frees its slot, and counts until its end")
  func drains() {
    var admission = Admission<String>(slots: 1, maximumWaiting: 2, maximumParked: 2)
    let slow = reader(1)
    #expect(admission.ask("a") == .admitted)
    #expect(admission.ask("b") == .waiting(1))
    let (next, ended) = admission.drain(to: slow)
    #expect(next?.waiter == "b" && ended.isEmpty)
    #expect(admission.taken == 1 && admission.parked == 1)
    admission.forget(slow)
    #expect(admission.taken == 1 && admission.parked == 0)
  }

  @Test("Where there is no room for another one, the slowest goes, be it the new one")
  func tooMany() {
    var admission = Admission<String>(slots: 4, maximumWaiting: 1, maximumParked: 2)
    for _ in 0..<4 { #expect(admission.ask("a") == .admitted) }
    let (first, second, third, fourth) = (reader(10), reader(20), reader(30), reader(5))
    for each in [first, second] { #expect(admission.drain(to: each).ended.isEmpty) }
    #expect(admission.drain(to: third).ended.map { $0 === first } == [true])
    #expect(admission.parked == 2 && admission.taken == 1)
    #expect(admission.drain(to: fourth).ended.map { $0 === fourth } == [true])
    #expect(admission.parked == 2 && admission.taken == 1, "its transfer keeps the slot until it has ended")
    admission.forget(first)
    #expect(admission.parked == 2, "one that was ended is forgotten already")
    _ = admission.resize(slots: 4, maximumParked: 1)
    #expect(admission.ask("b") == .admitted)
    #expect(admission.drain(to: reader(40)).ended.count == 2, "as many as are too many")
    #expect(admission.parked == 1)
  }

  @Test("Parked callers are never ended for a slow reader")
  func parkedCallers() {
    var admission = Admission<String>(slots: 2, maximumWaiting: 1, maximumParked: 1)
    #expect(admission.ask("a") == .admitted)
    _ = admission.park()
    #expect(admission.ask("b") == .admitted)
    let slow = reader(100)
    #expect(admission.drain(to: slow).ended.map { $0 === slow } == [true])
    #expect(admission.parked == 1 && admission.taken == 1)
  }

  @Test("Any order of asking, draining, reading and ending ends only the slowest, and only beyond the limit")
  func atRandom() {
    for seed in 0..<300 {
      let first = simulate(seed: seed)
      #expect(first == simulate(seed: seed), "seed \(seed)")
      #expect(!first.isEmpty)
    }
  }

  /// Returns the numbers of the readers that were ended, in order.
  private func simulate(seed: Int) -> [Int] {
    var random = SeededRandom(seed: UInt64(seed))
    var admission = Admission<Int>(slots: 3, maximumWaiting: 5, maximumParked: 4)
    var (holding, waiting, slow) = (Set<Int>(), Set<Int>(), [Int: SlowReader]())
    var ends: [Int] = []
    func grant(_ entry: Admission<Int>.Entry?) {
      guard let entry else { return }
      waiting.remove(entry.waiter)
      holding.insert(entry.waiter)
    }
    for id in 0..<400 {
      switch random.next() % 5 {
      case 0, 1:
        switch admission.ask(id) {
        case .admitted: holding.insert(id)
        case .waiting: waiting.insert(id)
        case .queueFull: #expect(waiting.count == 5)
        }
      case 2:
        guard let one = holding.sorted().randomElement(using: &random) else { continue }
        let new = reader(Int(random.next() % 10))
        let before = slow
        let (next, ended) = admission.drain(to: new)
        grant(next)
        if ended.isEmpty {
          holding.remove(one)
          slow[one] = new
        } else {
          #expect(before.count == 4 && ended.count == 1)
          let least = min(new.recent, before.values.map(\.recent).min() ?? .max)
          #expect(ended[0].recent == least)
          if ended[0] !== new {
            holding.remove(one)
            slow = slow.filter { $0.value !== ended[0] }
            slow[one] = new
          }
          ends.append(before.first { $0.value === ended[0] }?.key ?? one)
        }
      case 3:
        for each in slow.keys.sorted() { slow[each]?.recent = Int(random.next() % 10) }
      default:
        if let one = holding.sorted().randomElement(using: &random) {
          holding.remove(one)
          grant(admission.release())
        }
        guard let one = slow.keys.sorted().randomElement(using: &random), random.next() % 2 == 0 else { continue }
        if let reader = slow.removeValue(forKey: one) { admission.forget(reader) }
      }
      #expect(admission.taken == holding.count && admission.taken <= 3)
      #expect(admission.parked == slow.count && admission.parked <= 4)
      #expect(admission.waiting == waiting.count)
      #expect(waiting.isEmpty || holding.count == 3, "a free slot goes to one that waits")
    }
    return ends
  }

  // MARK: The bytes of the last seconds

  @Test("What a reader took counts for five seconds")
  func recentBytes() {
    let began = MonotonicTime(nanoseconds: 1_000_000_000_000)
    var recent = RecentBytes(sum: 100, since: began, at: began.advanced(bySeconds: 2))
    #expect(recent.count == 100, "all of it came within five seconds")
    var counts: [Int] = []
    for sum in [100, 200, 200, 200, 200, 200, 200] {
      recent.look(sum: sum)
      counts.append(recent.count)
    }
    #expect(counts == [80, 160, 140, 120, 100, 100, 0])
    recent.look(sum: 50)
    #expect(recent.count == 0, "a sum that falls is no reading")
  }

  @Test("Of a long response its mean counts", arguments: [(10.0, 50), (50.0, 10), (5.0, 100), (0.0, 100)])
  func recentBytesOfLong(seconds: Double, expected: Int) {
    let began = MonotonicTime(nanoseconds: 1_000_000_000_000)
    #expect(RecentBytes(sum: 100, since: began, at: began.advanced(bySeconds: seconds)).count == expected)
  }
}

import Foundation
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

/// Workers that use one set at once, while its endpoints change.
@Suite("Endpoints of several threads", .timeLimit(.minutes(5))) struct EndpointThreadsTests {
  private static let threads = 4
  private static let steps = 4_000

  @Test(arguments: [1, 2, 3] as [UInt64]) func nothingIsLostAndNothingLeft(seed: UInt64) {
    let settings = EndpointSettings(outlier: OutlierSettings(ejectFor: 1, longest: 5))
    let set = EndpointSet(settings: settings, at: .now, seed: seed)
    set.update((0..<6).map { EndpointLine.spec($0) }, settings: settings, at: .now)
    let seen = Mutex<[ObjectIdentifier: Endpoint]>([:])
    let running = Atomic<Int>(Self.threads)
    let group = DispatchGroup()
    for thread in 0..<Self.threads {
      group.enter()
      Thread.detachNewThread {
        let used = Self.work(set, seed: seed * 100 + UInt64(thread))
        seen.withLock { seen in for endpoint in used { seen[ObjectIdentifier(endpoint)] = endpoint } }
        running.wrappingSubtract(1, ordering: .relaxed)
        group.leave()
      }
    }
    var random = SeededRandom(seed: seed)
    while running.load(ordering: .relaxed) > 0 { Self.change(set, settings, &random) }
    group.wait()
    for endpoint in seen.withLock({ Array($0.values) }) { #expect(endpoint.active == 0) }
    let report = set.report(at: .now)
    #expect(report.endpoints.allSatisfy { $0.active == 0 })
    #expect(EndpointReport.State.allCases.reduce(0) { $0 + report.count($1) } == report.endpoints.count)
  }

  /// Picks and ends attempts; returns the endpoints that came up.
  private static func work(_ set: EndpointSet, seed: UInt64) -> [Endpoint] {
    var random = SeededRandom(seed: seed)
    var picker = EndpointPicker(set, seed: seed)
    var used: [Endpoint] = []
    var open: [(endpoint: Endpoint, began: MonotonicTime)] = []
    for step in 0..<steps {
      if let endpoint = picker.pick(at: .now) {
        endpoint.begins()
        open.append((endpoint, .now))
        if step % 16 == 0 { used.append(endpoint) }
      }
      guard step == steps - 1 || Bool.random(using: &random) else { continue }
      for (endpoint, began) in open {
        let endings: [EndpointEnding] = [
          .answered(firstByteAfter: 0.01), .answered(firstByteAfter: 0.02), .failed(after: 0.01), .withdrawn,
          .givenUp(after: 2),
        ]
        if let ending = endings.randomElement(using: &random) {
          _ = set.ended(ending, of: endpoint, began: began, at: .now)
        }
        endpoint.leaves()
      }
      open = []
    }
    return used
  }

  private static func change(_ set: EndpointSet, _ settings: EndpointSettings, _ random: inout SeededRandom) {
    let specs = (0..<8).filter { _ in Int.random(in: 0..<4, using: &random) > 0 }
      .map { EndpointLine.spec($0, weight: .random(in: 1...3, using: &random), priority: $0 % 2) }
    var settings = settings
    if Bool.random(using: &random) { settings.balance = .roundRobin }
    set.update(specs, settings: settings, at: .now)
    if let endpoint = set.endpoints.randomElement(using: &random) {
      _ = set.checked(endpoint, isGood: Bool.random(using: &random), CheckThresholds(), at: .now)
    }
  }
}

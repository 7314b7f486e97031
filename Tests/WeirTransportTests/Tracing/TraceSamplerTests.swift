import Testing
import WeirTestSupport

@testable import WeirTransport

@Suite struct TraceSamplerTests {
  private static func context(low: UInt64 = 1, flags: UInt8) -> TraceContext {
    TraceContext(high: 1, low: low, parent: 1, flags: flags)
  }

  @Test(arguments: [
    (sampler: TraceSampler(), flags: 1 as UInt8, isRecorded: true), (TraceSampler(), 0, false),
    (TraceSampler(), 2, false),
    (TraceSampler(share: 0), 1, true), (TraceSampler(share: 0, followsParent: false), 1, false),
    (TraceSampler(share: 1, followsParent: false), 0, true),
  ]) func callersTraces(sampler: TraceSampler, flags: UInt8, isRecorded: Bool) {
    #expect(sampler.records(continuing: Self.context(flags: flags)) == isRecorded)
  }

  /// The 56 bits of the identifier that Level 2 of the recommendation calls random.
  @Test(arguments: [
    (share: 0.25, low: 0xFFC0_0000_0000_0000 as UInt64, isChosen: true), (0.25, 0xFFBF_FFFF_FFFF_FFFF, false),
    (0, .max, false), (-1, .max, false), (.nan, .max, false), (1, 0, true), (2, 0, true),
  ]) func shares(share: Double, low: UInt64, isChosen: Bool) {
    let sampler = TraceSampler(share: share)
    #expect(sampler.chooses(Self.context(low: low, flags: 0)) == isChosen)
  }

  @Test func begunTraces() {
    var random = SeededRandom(seed: 1)
    var ids = TraceIDs(using: &random)
    let contexts = (0..<10_000).map { _ in ids.begin(by: TraceSampler(share: 0.1)) }
    #expect((900...1100).contains(contexts.count(where: \.isSampled)))
    #expect(contexts.allSatisfy { TraceContext(traceparent: $0.traceparent) == $0 })
    #expect(ids.begin(by: TraceSampler(share: 0)).isSampled == false)
  }

  @Test func recordedChildren() {
    let child = Self.context(flags: 2).recordedChild(parent: 0xabc)
    #expect(child.flags == 3 && child.parent == 0xabc && child.low == 1)
  }
}

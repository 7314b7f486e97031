import Foundation
import Testing

@testable import WeirMetrics

@Suite struct NativeHistogramTests {
  private func counted(_ values: [Double]) -> NativeHistogram {
    let buckets = NativeBuckets()
    for value in values { buckets.count(value) }
    return buckets.snapshot
  }

  private typealias Bucket = NativeHistogram.Bucket

  // MARK: Buckets

  /// A bound belongs to the bucket below it.
  @Test(
    arguments: [
      (1, 0), (1.0.nextUp, 1), (1.0.nextDown, 0), (0.5, -8), (0.5.nextUp, -7), (2, 8), (2.0.nextUp, 9), (3, 13),
      (1.0905077326652577, 1), (1.0905077326652577.nextUp, 2), (1.8340080864093422, 7),
      (1.8340080864093422.nextUp, 8), (0x1p-128.nextUp, -1_023), (.greatestFiniteMagnitude, 8_192),
      (0x1p1023, 8_184),
    ] as [(Double, Int)])
  func indices(_ magnitude: Double, _ index: Int) {
    #expect(NativeBuckets.index(of: magnitude) == index)
    #expect(counted([magnitude, magnitude]).positive == [Bucket(index: index, count: 2)])
    #expect(counted([-magnitude]).negative == [Bucket(index: index, count: 1)])
  }

  /// Each bucket is wider than the one before by an eighth of a power of two.
  @Test func indicesFollowTheLogarithm() {
    for step in -1_000...1_000 {
      let middle = exp2((Double(step) - 0.5) / 8)
      #expect(NativeBuckets.index(of: middle) == step)
    }
  }

  @Test func nearZero() {
    let histogram = counted([0, -0.0, 0x1p-128, -0x1p-128, .leastNonzeroMagnitude])
    #expect(histogram == NativeHistogram(zeroCount: 5))
    #expect(histogram.count == 5)
  }

  @Test func bucketsAreInOrder() {
    let histogram = counted([1e300, 3, -2, 0, 1e-30, 1, -1e9, 3])
    #expect(histogram.positive.map(\.count) == [1, 1, 2, 1])
    #expect(histogram.positive.map(\.index) == [-797, 0, 13, 7_973])
    #expect(histogram.negative.map(\.count) == [1, 1])
    #expect(histogram.negative.map(\.index) == [8, 240])
    #expect(histogram.schema == 3 && histogram.count == 8)
  }

  // MARK: Coarser schemas

  @Test func twoBucketsBecomeOne() {
    let buckets = (-3...4).map { Bucket(index: $0, count: UInt64($0 + 10)) }
    // So many that they have to.
    let rest = (0..<156).map { Bucket(index: 1_000 + 2 * $0, count: 1) }
    let histogram = NativeHistogram(zeroCount: 1, positive: buckets, negative: rest).limited()
    #expect(histogram.schema == 2)
    #expect(histogram.positive.map(\.index) == [-1, 0, 1, 2])
    #expect(histogram.positive.map(\.count) == [15, 19, 23, 27])
    #expect(histogram.negative.map(\.index) == Array(500..<656))
    #expect(histogram.count == NativeHistogram(zeroCount: 1, positive: buckets, negative: rest).count)
  }

  /// Both signs have one limit.
  @Test(arguments: [(160, 0, 3), (161, 0, 2), (80, 80, 3), (81, 80, 2), (320, 0, 2), (321, 0, 1), (640, 640, 0)])
  func moreBucketsThanThereMayBe(_ positive: Int, _ negative: Int, _ schema: Int) {
    let values = (1...positive).map { exp2((Double($0) - 0.5) / 8) }
    let negatives = negative == 0 ? [] : (1...negative).map { -exp2((Double($0) - 0.5) / 8) }
    let histogram = counted(values + negatives)
    #expect(histogram.schema == schema)
    #expect(histogram.positive.count + histogram.negative.count <= 160)
    #expect(histogram.count == UInt64(positive + negative))
  }

  @Test func allThatThereIsFits() {
    let powers = (-127...1_023).map { scalbn(1.5, $0) }
    let values = powers + powers.map { -$0 }
    let histogram = counted(values)
    #expect(histogram.schema == -4 && histogram.count == UInt64(values.count))
    // 16 powers of two each, from 2^-128 to 2^1024.
    #expect(histogram.positive.map(\.index) == Array(-7...64))
    #expect(histogram.negative.count == 72)
    #expect(histogram.positive.first?.count == 15)
    #expect(histogram.positive.last?.count == 16)
  }

  @Test func emptyBucketsBetweenMayBeTooMany() {
    let near = counted([1, exp2(159 / 8 - 0.05)])
    #expect(near.narrowed() == near)
    let far = counted([1, 1e300])
    #expect(far.schema == 3)
    #expect(far.narrowed().schema == -3)
    #expect(far.narrowed().positive.map(\.index) == [0, 125])
    #expect(NativeHistogram(zeroCount: 3).narrowed() == NativeHistogram(zeroCount: 3))
  }

  // MARK: Quantiles

  enum Shape: CaseIterable {
    case uniform, logNormal, twoHumps

    func value(_ random: inout some RandomNumberGenerator) -> Double {
      func normal() -> Double {
        (-2 * log(Double.random(in: 0x1p-53...1, using: &random))).squareRoot()
          * cos(2 * .pi * Double.random(in: 0..<1, using: &random))
      }
      return switch self {
      case .uniform: Double.random(in: 0...10, using: &random)
      case .logNormal: exp(1.5 * normal() - 3)
      case .twoHumps: Bool.random(using: &random) ? 0.02 + 0.004 * normal() : 2 + 0.3 * normal()
      }
    }
  }

  private struct Random: RandomNumberGenerator {
    var state: UInt64 = 88_172_645_463_325_252

    mutating func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
  }

  /// The bucket in which Prometheus looks for a quantile is the one that has the exact one.
  @Test(arguments: Shape.allCases) func quantilesLieInTheirBuckets(shape: Shape) throws {
    var random = Random()
    let values = (0..<Self.observations).map { _ in shape.value(&random) }.sorted()
    let histogram = counted(values)
    let buckets =
      histogram.negative.reversed().map { (upper: -bound($0.index - 1, histogram.schema), count: $0.count) }
      + [(upper: NativeHistogram.zeroThreshold, count: histogram.zeroCount)]
      + histogram.positive.map { (upper: bound($0.index, histogram.schema), count: $0.count) }
    for quantile in [0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1] {
      let rank = quantile * Double(values.count)
      let exact = values[max(0, Int(rank.rounded(.up)) - 1)]
      var (below, lower) = (0.0, -Double.infinity)
      for bucket in buckets {
        below += Double(bucket.count)
        if below >= rank {
          #expect(exact > lower && exact <= bucket.upper, "\(quantile) of \(shape) is \(exact)")
          break
        }
        lower = bucket.upper
      }
      #expect(below >= rank)
    }
  }

  #if DEBUG
    private static let observations = 50_000
  #else
    private static let observations = 1_000_000
  #endif

  private func bound(_ index: Int, _ schema: Int) -> Double { exp2(Double(index) * exp2(-Double(schema))) }

  // MARK: In a registry

  private let registry = Registry(
    seriesLimit: 2_000, ownMetrics: true, nativeHistograms: .named(["wait_seconds", "x"]),
    clock: WallClock { 1_700_000_000.25 })

  @Test func chosenHistogramsAreNative() throws {
    let wait = try registry.histogram("wait_seconds", help: "", buckets: [1], labels: "queue").with("q")
    let other = try registry.histogram("other_seconds", help: "", buckets: [1])
    for value in [0.5, 2, -1, 0, .nan, .infinity] {
      wait.observe(value)
      other.observe(value)
    }
    #expect(wait.native?.count == 4 && wait.native?.zeroCount == 1)
    #expect(other.native == nil)
    #expect(wait.snapshot == other.snapshot)
    #expect(registry.text().contains("weir_metrics_invalid_updates_total{metric=\"wait_seconds\"} 2\n"))
    let all = try Registry(nativeHistograms: .all).histogram("a", help: "")
    all.observe(1)
    #expect(all.native?.positive == [Bucket(index: 0, count: 1)])
    #expect(try Registry().histogram("wait_seconds", help: "").native == nil)
  }

  /// All formats but protobuf show the same with native buckets and without.
  @Test func textShowsTheClassicBuckets() throws {
    let registries = [NativeHistograms.none, .all].map { native in
      Registry(seriesLimit: 10, ownMetrics: false, nativeHistograms: native, clock: WallClock { 1 })
    }
    for registry in registries {
      let histogram = try registry.histogram("h", help: "", buckets: .linear(start: 0, width: 1, count: 40))
      for value in stride(from: -1, to: 45, by: 0.5) { histogram.observe(value, traceID: "4b") }
    }
    for format in [Exposition.Format.text, .openMetrics] {
      #expect(registries[0].text(Exposition(format)) == registries[1].text(Exposition(format)))
    }
  }

  /// Writers see each page once, whoever makes it, and readers only numbers that grow.
  @Test func threadsCountTogether() async throws {
    let wait = try registry.histogram("wait_seconds", help: "", buckets: [1], labels: "queue").with("q")
    let (threads, rounds) = (4, 2_000)
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<threads {
        group.addTask {
          for round in 0..<rounds { wait.observe(scalbn(1 + Double(thread) / 4, round % 100 - 50)) }
        }
      }
      group.addTask {
        var last: UInt64 = 0
        while last < threads * rounds {
          let count = wait.native?.count ?? 0
          // An observation in the native buckets is in the classic ones too.
          #expect(count >= last && wait.snapshot.count >= count)
          last = count
          await Task.yield()
        }
      }
    }
    let native = try #require(wait.native)
    #expect(native.count == UInt64(threads * rounds) && native == native.limited())
    #expect(native.positive.allSatisfy { $0.count >= UInt64(rounds / 100) })
  }
}

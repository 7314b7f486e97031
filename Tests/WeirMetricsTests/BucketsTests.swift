import Testing

@testable import WeirMetrics

@Suite struct BucketsTests {
  @Test func makesLists() {
    #expect(Buckets.linear(start: 1, width: 2, count: 4).bounds == [1, 3, 5, 7])
    #expect(Buckets.exponential(start: 256, factor: 4, count: 3).bounds == [256, 1024, 4096])
  }

  @Test(
    arguments: [
      ([], .empty), ([.infinity], .empty), ([1, 1], .duplicate), ([2, 1], .unsorted), ([.nan], .notFinite),
      ([1, .nan, 3], .notFinite), ([-.infinity, 1], .notFinite), ([1, .infinity, .infinity], .notFinite),
      (Array(repeating: 1, count: 513), .tooMany),
    ] as [([Double], Buckets.Problem)])
  func namesWhatIsWrong(bounds: [Double], problem: Buckets.Problem) {
    #expect(Buckets(bounds).checked() == .failure(problem))
    #expect(throws: RegistryError.invalidBuckets(metric: "a", problem: problem)) {
      try Registry().histogram("a", help: "", buckets: Buckets(bounds))
    }
  }

  @Test func aRegistrysOwnBucketsGoBeforeThoseOfItsHistograms() throws {
    let registry = Registry(buckets: ["a": [1, 2], "b": [2, 1]])
    #expect(try registry.histogram("a", help: "", buckets: [5]).snapshot.bounds == [1, 2])
    #expect(try registry.histogram("a", help: "", buckets: [7]).snapshot.bounds == [1, 2])
    #expect(try registry.histogram("c", help: "", buckets: [5]).snapshot.bounds == [5])
    #expect(throws: RegistryError.invalidBuckets(metric: "b", problem: .unsorted)) {
      try registry.histogram("b", help: "", buckets: [5])
    }
    #expect(registry.histogramNames == ["a", "c"])
  }

  @Test func takesInfinityAtTheEndForGranted() {
    #expect(Buckets([1, 2, .infinity]).checked() == .success([1, 2]))
    #expect(Buckets.default.checked() == .success(Buckets.default.bounds))
  }

  /// Nothing traps, allocates without bound or passes for a list.
  @Test(arguments: [
    Buckets.linear(start: 0, width: 1, count: .max), .linear(start: 0, width: 1, count: .min),
    .linear(start: 0, width: 0, count: 2), .linear(start: .nan, width: 1, count: 2),
    .linear(start: 1e308, width: 1e308, count: 4), .exponential(start: 1, factor: 10, count: 400),
    .exponential(start: 0, factor: 2, count: 2), .exponential(start: -1, factor: 2, count: 2),
    .exponential(start: 1, factor: 2, count: 0),
  ])
  func refusesOddMakers(buckets: Buckets) {
    #expect(throws: Buckets.Problem.self) { try buckets.checked().get() }
  }
}

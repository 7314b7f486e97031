import Testing

@testable import WeirGateway

@Suite struct DescriptorSharesTests {
  @Test(arguments: [
    (limit: 256, workers: 2, hasOrigin: false, metrics: 32, clients: 92),
    (256, 2, true, 32, 61),
    (1024, 2, false, 128, 428),
    (4096, 4, false, 512, 1768),
    (1 << 20, 8, false, 512, 524_000),
    // So few that it can hardly work; each listener still answers somebody.
    (40, 4, false, 8, 4),
    (0, 1, false, 8, 1),
  ])
  func sharesLeaveEachItsOwn(limit: Int, workers: Int, hasOrigin: Bool, metrics: Int, clients: Int) {
    let shares = DescriptorShares(limit: limit, workers: workers, hasOrigin: hasOrigin)
    #expect(shares.metrics == metrics && shares.clients == clients, "\(shares)")
  }

  /// All full, each client with its upstream's connection, is within the limit.
  @Test(arguments: [128, 256, 500, 1024, 20_000])
  func togetherTheyStayBelowTheLimit(limit: Int) {
    for workers in 1...8 {
      for hasOrigin in [false, true] {
        let shares = DescriptorShares(limit: limit, workers: workers, hasOrigin: hasOrigin)
        let most = shares.metrics + shares.clients * (hasOrigin ? 3 : 2)
        #expect(most + 30 + 2 * workers <= limit, "\(limit) \(workers) \(hasOrigin)")
      }
    }
  }
}

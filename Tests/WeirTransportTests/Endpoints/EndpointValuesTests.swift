import Testing
import WeirIO

@testable import WeirTransport

/// Health, latency, availability and settings of endpoints.
@Suite("Values of endpoints", .timeLimit(.minutes(5))) struct EndpointValuesTests {
  /// Results of checks, `+` and `-`, and after each whether the endpoint is healthy.
  @Test(arguments: [
    ("--", "++"), ("---", "++-"), ("--+--", "+++++"), ("---+", "++--"), ("---++", "++--+"), ("---+-++", "++----+"),
    ("+++---", "+++++-"),
  ])
  func healthChangesAfterResultsInARow(_ results: String, _ states: String) {
    var health = EndpointHealth()
    var told = ""
    for result in results {
      let before = health.isHealthy
      let changed = health.checked(isGood: result == "+", CheckThresholds())
      #expect(changed == (before != health.isHealthy))
      told += health.isHealthy ? "+" : "-"
    }
    #expect(told == states)
  }

  @Test func thresholdsAreBounded() {
    #expect(CheckThresholds(unhealthyAfter: -1, healthyAfter: 5_000) == .init(unhealthyAfter: 1, healthyAfter: 100))
  }

  @Test func latencyFollowsInTenSeconds() throws {
    var latency = EndpointLatency(since: EndpointLine.time(0))
    #expect(latency.value(others: nil, at: EndpointLine.time(0)) == nil)
    #expect(latency.value(others: 0.3, at: EndpointLine.time(0)) == 0.3)
    latency.note(answer: 1, others: nil, at: EndpointLine.time(0))
    for tenth in 1...100 { latency.note(answer: 2, others: nil, at: EndpointLine.time(Double(tenth) / 10)) }
    let seconds = try #require(latency.seconds)
    #expect(abs(seconds - (2 - 0.3679)) < 0.001, "\(seconds)")
  }

  @Test func anUnusedEndpointTendsToTheOthers() throws {
    var latency = EndpointLatency(since: EndpointLine.time(0))
    latency.note(answer: 4, others: 0.1, at: EndpointLine.time(100))
    let later = try #require(latency.value(others: 0.1, at: EndpointLine.time(110)))
    #expect(abs(later - (0.1 + 3.9 * 0.3679)) < 0.01, "\(later)")
    #expect(latency.value(others: nil, at: EndpointLine.time(900)) == latency.seconds)
  }

  /// The mean, the others', the time of a failure, and what it counts as.
  @Test(arguments: [
    (0.5, 0.5, 0.001, 1.0), (0.5, 0.5, 3, 3), (6, 6, 0.001, 10), (0.5, 0.5, 60, 10), (12, 12, 0.001, 12),
    (0.1, 0.5, 0.001, 1),
  ])
  func aFailureCountsAsTwiceTheMean(_ mean: Double, _ others: Double, _ elapsed: Double, _ sample: Double) throws {
    var latency = EndpointLatency(mean, since: EndpointLine.time(0))
    latency.note(failureAfter: elapsed, others: others, at: EndpointLine.time(10))
    let seconds = try #require(latency.seconds)
    #expect(abs(seconds - (sample + (mean - sample) * 0.36788)) < 0.001, "\(seconds)")
  }

  @Test func aFailureWithoutAnyAnswerSaysNothing() {
    var latency = EndpointLatency(since: EndpointLine.time(0))
    latency.note(failureAfter: 0.001, others: nil, at: EndpointLine.time(5))
    #expect(latency.seconds == nil)
  }

  @Test(arguments: [(0.5, 0.1, 0.5), (0.5, 3, 3)])
  func aGiveUpNeverMakesAnEndpointFaster(_ mean: Double, _ wait: Double, _ sample: Double) throws {
    var latency = EndpointLatency(mean, since: EndpointLine.time(0))
    latency.note(givenUpAfter: wait, others: mean, at: EndpointLine.time(1_000))
    let seconds = try #require(latency.seconds)
    #expect(abs(seconds - sample) < 0.001, "\(seconds)")
  }

  @Test func theMeanOfTheOthersLeavesOneOut() {
    var sum = LatencySum()
    #expect(sum.mean(without: nil) == nil)
    sum.replace(nil, by: 1)
    #expect(sum.mean(without: 1) == nil)
    sum.replace(nil, by: 3)
    #expect(sum.mean(without: 1) == 3)
    #expect(sum.mean(without: nil) == 2)
    sum.replace(1, by: 2)
    #expect(sum.mean(without: 3) == 2)
    sum.replace(3, by: nil)
    #expect(sum.mean(without: nil) == 2)
  }

  @Test(
    arguments: [
      .available, .unhealthy, .slowStart(since: EndpointLine.time(3)), .ejected(until: EndpointLine.time(1e6)),
    ] as [EndpointAvailability])
  func availabilityFitsIntoAWord(_ availability: EndpointAvailability) {
    #expect(EndpointAvailability(word: availability.word) == availability)
  }

  @Test func anAbsurdTimeIsCut() {
    let far = EndpointAvailability(word: EndpointAvailability.ejected(until: .distantFuture).word)
    #expect(far == .ejected(until: MonotonicTime(nanoseconds: 1 << 61 - 1)))
  }

  @Test func nonsenseIsBounded() {
    let settings = EndpointSettings(
      balance: .consistentHash(factor: .nan), slowStart: -1, panicThreshold: .infinity, connectRetries: 99,
      connections: -5)
    #expect(settings.boundedSlowStart == 1)
    #expect(settings.boundedPanicThreshold == 1)
    #expect(settings.boundedConnectRetries == 5)
    #expect(settings.boundedConnections == 1)
    #expect(settings.balance.boundedFactor == 1.05)
    #expect(EndpointSettings.Balance.consistentHash(factor: nil).boundedFactor == .infinity)
    let outlier = OutlierSettings(
      consecutiveFailures: 0, failureRatio: .nan, minimumRequests: .max, window: 0, ejectFor: .infinity, longest: -1,
      maximumShare: 3)
    #expect(outlier.boundedConsecutive == 1)
    #expect(outlier.boundedRatio == 0.01)
    #expect(outlier.boundedMinimumRequests == 1_000_000)
    #expect(outlier.boundedWindow == 1)
    #expect(outlier.boundedEjectFor == 3600)
    #expect(outlier.boundedLongest == 1)
    #expect(outlier.boundedMaximumShare == 1)
  }

  @Test(arguments: [
    (EndpointSpec(host: "10.0.0.7", port: 8443), "10.0.0.7:8443"),
    (EndpointSpec(host: "2001:DB8::7", port: 80), "[2001:db8::7]:80"),
    (EndpointSpec(host: "127.1", port: 1), "127.0.0.1:1"),
    (EndpointSpec(host: "Pay.Internal", port: 443, weight: 0, priority: 12), "pay.internal:443"),
    (EndpointSpec(unixPath: "/run/a.sock"), "unix:/run/a.sock"),
  ])
  func anEndpointIsItsAddress(_ spec: EndpointSpec, _ name: String) {
    #expect(spec.name == name)
    #expect(EndpointSpec.weights.contains(spec.weight))
    #expect(EndpointSpec.priorities.contains(spec.priority))
  }
}

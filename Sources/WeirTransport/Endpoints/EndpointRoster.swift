import WeirIO

/// The endpoints of a set with the history of each. A value under the set's lock; it publishes what picks depend on in
/// the endpoints' atomics and in the tiers of the balancer in use.
struct EndpointRoster: Sendable {
  struct Member: Sendable {
    let endpoint: Endpoint
    var weight: Int
    /// The place of its priority among those in use.
    var tier = 0
    var health = EndpointHealth()
    /// Nil while failures eject nothing.
    var record: OutlierDetector.Record?
    var latency: EndpointLatency
    /// Its part of the latencies' sum; nil while it is not in it.
    var latencyPart: Double?
    var slowStart: MonotonicTime?
    /// Until when it is left out, as it has asked for that; nil once an attempt that began later has ended.
    var pause: MonotonicTime?

    var availability: EndpointAvailability {
      if !health.isHealthy { return .unhealthy }
      if let until = [record?.until, pause].compactMap(\.self).max() { return .ejected(until: until) }
      return slowStart.map { .slowStart(since: $0) } ?? .available
    }
  }

  /// Seconds for which an endpoint that is gone is remembered.
  static let memory = 60.0
  /// The most endpoints that are remembered so.
  private static let mostDeparted = 4096
  /// Seconds between two looks at all endpoints.
  private static let round = 1.0
  /// Seconds below which a wait that a caller gave up is no failure.
  private static let leastWait = 1.0

  let totals: EndpointTotals
  private(set) var balancer = Balancer.empty
  private(set) var settings: EndpointSettings
  private(set) var members: [Member] = []
  private var detectors: [OutlierDetector] = []
  private var departed: [(member: Member, left: MonotonicTime)] = []
  private var latencies = LatencySum()
  private var nextRound: MonotonicTime
  /// Whether the set has had endpoints: later ones begin slowly.
  private var hasBegun = false

  init(_ settings: EndpointSettings, _ totals: EndpointTotals, at now: MonotonicTime) {
    self.settings = settings
    self.totals = totals
    nextRound = now
  }

  // MARK: Endpoints

  /// The endpoints that would keep their history, by name.
  func known(at now: MonotonicTime) -> [String: Endpoint] {
    let remembered = departed.filter { now.seconds(since: $0.left) < Self.memory }.map(\.member)
    return Dictionary((members + remembered).map { ($0.endpoint.name, $0.endpoint) }) { first, _ in first }
  }

  /// Replaces the endpoints.
  ///
  /// - Parameter balancer: Made of the same endpoints and settings.
  mutating func install(
    _ present: [EndpointTier.Member], _ balancer: Balancer, _ settings: EndpointSettings, at now: MonotonicTime
  ) {
    self.balancer = balancer
    self.settings = settings
    var joined = take(present, at: now)
    for index in joined.indices {
      joined[index].tier = balancer.tiers.firstIndex { $0.priority == present[index].priority } ?? 0
      follow(&joined[index], at: now)
      joined[index].endpoint.place = index
    }
    members = joined
    hasBegun = hasBegun || !members.isEmpty
    detectors =
      settings.outlier.map { outlier in
        balancer.tiers.indices.map { tier in
          OutlierDetector(outlier, members.filter { $0.tier == tier }.compactMap(\.record), at: now)
        }
      } ?? []
    publishAll(at: now)
  }

  /// The members for the endpoints, old ones with their history. The others depart.
  private mutating func take(_ present: [EndpointTier.Member], at now: MonotonicTime) -> [Member] {
    departed.removeAll { now.seconds(since: $0.left) >= Self.memory }
    var staying = Dictionary(members.map { ($0.endpoint.number, $0) }) { first, _ in first }
    var returning = Dictionary(departed.map { ($0.member.endpoint.number, $0.member) }) { first, _ in first }
    let joined = present.map { entry in
      let stays = staying.removeValue(forKey: entry.endpoint.number)
      var member =
        stays ?? returning.removeValue(forKey: entry.endpoint.number)
        ?? Member(endpoint: entry.endpoint, weight: entry.weight, latency: EndpointLatency(since: now))
      member.weight = entry.weight
      if stays == nil { member.slowStart = hasBegun ? now : nil }
      return member
    }
    departed.removeAll { returning[$0.member.endpoint.number] == nil }
    for var member in staying.values {
      member.endpoint.place = -1
      member.latencyPart = nil
      departed.append((member, now))
    }
    if departed.count > Self.mostDeparted { departed.removeFirst(departed.count - Self.mostDeparted) }
    return joined
  }

  private func follow(_ member: inout Member, at now: MonotonicTime) {
    if settings.slowStart == nil { member.slowStart = nil }
    guard let outlier = settings.outlier else { return member.record = nil }
    if member.record == nil { member.record = OutlierDetector.Record(outlier, at: now) }
    // An endpoint that is back may have the window of settings before the last.
    member.record?.follow(outlier, at: now)
  }

  // MARK: Ends and checks

  /// An attempt has ended.
  ///
  /// - Parameter random: From 0 to 1.
  mutating func ended(
    _ ending: EndpointEnding, of endpoint: Endpoint, began: MonotonicTime, random: Double, at now: MonotonicTime
  ) -> EndpointEvent? {
    let index = endpoint.place
    guard members.indices.contains(index) else { return nil }
    if now >= nextRound { goRound(at: now) }
    guard let failed = note(ending, index, at: now) else {
      // The next request may try the endpoint in place of one that was withdrawn.
      if case .ejected(let until) = members[index].availability, began >= until { publish(index) }
      return nil
    }
    let endsPause = members[index].pause.map { began >= $0 } ?? false
    if endsPause { members[index].pause = nil }
    if let change = judge(index, failed: failed, began: began, random: random, at: now) {
      return event(change, index, at: now)
    }
    return endsPause && members[index].availability.isAvailable ? event(.returned, index, at: now) : nil
  }

  private mutating func judge(
    _ index: Int, failed: Bool, began: MonotonicTime, random: Double, at now: MonotonicTime
  ) -> EndpointEvent.Kind? {
    let tier = members[index].tier
    guard members[index].record != nil, detectors.indices.contains(tier) else { return nil }
    return members[index].record.changed {
      detectors[tier].ended(&$0, failed: failed, began: began, random: random, at: now)
    }
  }

  /// Leaves an endpoint out, unless no other one is available.
  mutating func leavesOut(
    _ endpoint: Endpoint, for seconds: Double, at now: MonotonicTime
  ) -> (leaves: Bool, event: EndpointEvent?) {
    let index = endpoint.place
    guard members.indices.contains(index) else { return (true, nil) }
    guard members.indices.contains(where: { $0 != index && members[$0].availability.isAvailable }) else {
      return (false, nil)
    }
    let before = members[index].pause ?? now
    members[index].pause = max(before, now.advanced(bySeconds: seconds))
    guard before <= now else {
      publish(index)
      return (true, nil)
    }
    return (true, event(.ejected(.retryAfter, seconds: seconds), index, at: now))
  }

  /// An active check has ended.
  mutating func checked(
    _ endpoint: Endpoint, isGood: Bool, _ thresholds: CheckThresholds, at now: MonotonicTime
  ) -> [EndpointEvent] {
    let index = endpoint.place
    guard members.indices.contains(index) else { return [] }
    var events: [EndpointEvent] = []
    let tier = members[index].tier
    if isGood, detectors.indices.contains(tier) {
      let change = members[index].record.changed { detectors[tier].returned(&$0, at: now) }
      if let change { events.append(event(change, index, at: now)) }
    }
    if members[index].health.checked(isGood: isGood, thresholds) {
      events.append(event(isGood ? .healthy : .unhealthy, index, at: now))
    }
    return events
  }

  /// Active checks have ended for good: what they found says nothing any more.
  mutating func forgetChecks(at now: MonotonicTime) {
    for index in members.indices {
      if !members[index].health.isHealthy { startSlowly(index, at: now) }
      members[index].health = EndpointHealth()
    }
    for index in departed.indices { departed[index].member.health = EndpointHealth() }
    publishAll(at: now)
  }

  /// Notes an ending's latency. Returns whether it is a failure; nil if it says nothing about that.
  private mutating func note(_ ending: EndpointEnding, _ index: Int, at now: MonotonicTime) -> Bool? {
    let others = latencies.mean(without: members[index].latencyPart)
    let failed: Bool?
    switch ending {
    case .withdrawn: return nil
    case .answered(let seconds):
      members[index].latency.note(answer: max(0, seconds), others: others, at: now)
      failed = false
    case .failed(let seconds), .connectFailed(let seconds):
      members[index].latency.note(failureAfter: max(0, seconds), others: others, at: now)
      failed = true
    case .givenUp(let seconds):
      members[index].latency.note(givenUpAfter: max(0, seconds), others: others, at: now)
      let isTooLong = seconds > max(Self.leastWait, Endpoint.muchSlower * (others ?? .infinity))
      failed = isTooLong ? true : nil
    }
    if let failed { members[index].endpoint.countAttempt(failed: failed) }
    let part = members[index].availability.isAvailable ? members[index].latency.seconds : nil
    latencies.replace(members[index].latencyPart, by: part)
    members[index].latencyPart = part
    members[index].endpoint.publish(members[index].latency, part: part)
    totals.latencySum = latencies
    return failed
  }

  /// Publishes a change of one endpoint's availability.
  private mutating func event(_ change: EndpointEvent.Kind, _ index: Int, at now: MonotonicTime) -> EndpointEvent {
    let endpoint = members[index].endpoint
    switch change {
    case .returned, .healthy: startSlowly(index, at: now)
    case .ejected(let reason, _):
      endpoint.countEjection(reason)
      members[index].slowStart = nil
    case .unhealthy: break
    }
    publish(index)
    count(members[index].tier)
    sumUp(at: now)
    return EndpointEvent(endpoint: endpoint.name, kind: change)
  }

  private mutating func startSlowly(_ index: Int, at now: MonotonicTime) {
    if settings.slowStart != nil { members[index].slowStart = now }
  }

  // MARK: Publishing

  /// Looks at all endpoints: latencies that fade change the sum, and slow starts end.
  private mutating func goRound(at now: MonotonicTime) {
    nextRound = now.advanced(bySeconds: Self.round)
    for index in members.indices {
      guard let since = members[index].slowStart, now.seconds(since: since) >= settings.boundedSlowStart else {
        continue
      }
      members[index].slowStart = nil
      publish(index)
    }
    sumUp(at: now)
  }

  /// Publishes the sums over all endpoints.
  private mutating func sumUp(at now: MonotonicTime) {
    totals.available = members.count { $0.availability.isAvailable }
    var sum = LatencySum()
    for index in members.indices {
      let member = members[index]
      let others = latencies.mean(without: member.latencyPart)
      let isCounted = member.availability.isAvailable && member.latency.seconds != nil
      members[index].latencyPart = isCounted ? member.latency.value(others: others, at: now) : nil
      sum.replace(nil, by: members[index].latencyPart)
      member.endpoint.publish(member.latency, part: members[index].latencyPart)
    }
    latencies = sum
    totals.latencySum = sum
  }

  private mutating func publishAll(at now: MonotonicTime) {
    for index in members.indices { publish(index) }
    for tier in balancer.tiers.indices { count(tier) }
    sumUp(at: now)
  }

  private func publish(_ index: Int) { members[index].endpoint.publish(members[index].availability) }

  private func count(_ tier: Int) {
    guard balancer.tiers.indices.contains(tier) else { return }
    let available = members.lazy.filter { $0.tier == tier && $0.availability.isAvailable }
    balancer.tiers[tier].publish(available: available.count, weight: available.reduce(0) { $0 + $1.weight })
  }
}

extension Optional where Wrapped == OutlierDetector.Record {
  /// Changes the record in place; nil without one.
  fileprivate mutating func changed(
    _ change: (inout OutlierDetector.Record) -> EndpointEvent.Kind?
  ) -> EndpointEvent.Kind? {
    guard var record = take() else { return nil }
    defer { self = record }
    return change(&record)
  }
}

/// The health of one endpoint by its active checks. It changes after several results in a row; without any the endpoint
/// counts as healthy.
struct EndpointHealth: Sendable {
  private(set) var isHealthy = true
  /// Results in a row that speak against the present state.
  private var contrary = 0

  /// A check has ended. Returns whether the health has changed.
  mutating func checked(isGood: Bool, _ thresholds: CheckThresholds) -> Bool {
    guard isGood != isHealthy else {
      contrary = 0
      return false
    }
    contrary += 1
    guard contrary >= (isGood ? thresholds.healthyAfter : thresholds.unhealthyAfter) else { return false }
    isHealthy = isGood
    contrary = 0
    return true
  }
}

/// How many results of active checks in a row change an endpoint's health.
package struct CheckThresholds: Sendable, Equatable {
  /// The range of both.
  package static let range = 1...100

  package var unhealthyAfter: Int
  package var healthyAfter: Int

  /// Takes the numbers. Numbers out of range count as the nearest valid ones.
  package init(unhealthyAfter: Int = 3, healthyAfter: Int = 2) {
    self.unhealthyAfter = unhealthyAfter.clamped(to: Self.range)
    self.healthyAfter = healthyAfter.clamped(to: Self.range)
  }
}

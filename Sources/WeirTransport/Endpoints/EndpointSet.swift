import Synchronization
import WeirCurl
package import WeirIO

/// The endpoints of one upstream, with what is known of each. All workers share it: each has an ``EndpointPicker``, which
/// picks without a lock. A lock is taken when an attempt ends, and when endpoints change.
package final class EndpointSet: Sendable {
  private struct Update: Sendable {
    var specs: [EndpointSpec] = []
    var settings: EndpointSettings
    var lastNumber: UInt32 = 0
  }

  private struct Fields: Sendable {
    var roster: EndpointRoster
    /// For the length of the next ejection, from 0 to 1.
    var jitter: Double
  }

  /// The last update. Its lock keeps updates apart, which make their tables before they lock out the workers.
  private let update: Mutex<Update>
  private let fields: Mutex<Fields>
  private let totals: EndpointTotals
  private let owner: (any AnyObject & Sendable)?
  private let updates = Atomic<Int>(0)
  /// The number of endpoints.
  private let count = Atomic<Int>(0)
  private let watches = Mutex<[WeakWatch]>([])
  private let listener = Mutex(Listener())

  private struct WeakWatch: Sendable {
    weak var watch: EndpointWatch?
  }

  /// A closure that is itself the value of a `Mutex` gets another wrapper at each look at it, as of Swift 6.3.
  private struct Listener: Sendable {
    var hear: (@Sendable () -> Void)?
  }

  /// Makes a set without endpoints.
  ///
  /// - Parameters:
  ///   - owner: The tag of connections in place of which each endpoint has one of its own; nil to count none.
  ///   - seed: Of the random part of ejections' lengths.
  package init(
    settings: EndpointSettings, owner: (any AnyObject & Sendable)? = nil, at now: MonotonicTime,
    seed: UInt64 = .random(in: .min ... .max)
  ) {
    self.owner = owner
    totals = EndpointTotals()
    update = Mutex(Update(settings: settings))
    var random = PickRandom(seed: seed)
    fields = Mutex(Fields(roster: EndpointRoster(settings, totals, at: now), jitter: random.unit()))
  }

  // MARK: Endpoints

  /// Replaces endpoints and settings; from any thread. An endpoint whose name stays keeps its history, and so does one
  /// that is back within 60 s. New ones begin slowly, except the first. Of equal names the first counts, and the order
  /// does not.
  ///
  /// - Returns: Whether anything has changed.
  @discardableResult
  package func update(_ specs: [EndpointSpec], settings: EndpointSettings, at now: MonotonicTime) -> Bool {
    var names: Set<String> = []
    let specs = specs.filter { names.insert($0.name).inserted }.sorted { $0.name < $1.name }
    let gone: [Endpoint]? = update.withLock { update in
      guard specs != update.specs || settings != update.settings else { return nil }
      let before = endpoints
      let known = fields.withLock { $0.roster.known(at: now) }
      let present = specs.map { spec in
        EndpointTier.Member(
          endpoint: known[spec.name].flatMap { $0.url == spec.url ? $0 : nil } ?? newEndpoint(spec, &update),
          weight: spec.weight, priority: spec.priority)
      }
      let balancer = Balancer(present, settings, totals)
      fields.withLock { $0.roster.install(present, balancer, settings, at: now) }
      count.store(present.count, ordering: .releasing)
      updates.wrappingAdd(1, ordering: .releasing)
      update.specs = specs
      update.settings = settings
      return before.filter { !$0.isMember }
    }
    if let gone {
      let (watches, destinations) = (watches.withLock { $0.compactMap(\.watch) }, gone.map(\.destination))
      for watch in watches { watch.onUpdate(destinations) }
      tellAvailable()
    }
    return gone != nil
  }

  /// Tells the watch of updates, for as long as there is another reference to it.
  package func add(_ watch: EndpointWatch) {
    watches.withLock { watches in
      watches.removeAll { $0.watch == nil }
      watches.append(WeakWatch(watch: watch))
    }
  }

  private func newEndpoint(_ spec: EndpointSpec, _ update: inout Update) -> Endpoint {
    update.lastNumber += 1
    return Endpoint(
      spec, number: update.lastNumber, totals: totals, connections: owner.map { EndpointConnections($0) })
  }

  /// Seconds for which an endpoint that is gone is remembered.
  package static var memory: Double { EndpointRoster.memory }

  package var settings: EndpointSettings { fields.withLock { $0.roster.settings } }

  /// Whether there is no endpoint at all.
  package var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

  /// The endpoints, sorted by name.
  package var endpoints: [Endpoint] { fields.withLock { $0.roster.members.map(\.endpoint) } }

  /// Whether an endpoint is available that is none of these.
  func hasAvailable(besides tried: TriedEndpoints) -> Bool {
    endpoints.contains { !tried.contains($0) && $0.availability.isAvailable }
  }

  /// Changes with each update.
  var generation: Int { updates.load(ordering: .acquiring) }

  var balancer: Balancer { fields.withLock { $0.roster.balancer } }

  // MARK: Ends and checks

  /// Tells how an attempt went, once: when its final head has come, or when it failed before. How the body goes says
  /// nothing about the endpoint.
  ///
  /// - Parameter began: When the attempt began, not before it was picked.
  /// - Returns: An ejection or return, for logs and metrics.
  package func ended(
    _ ending: EndpointEnding, of endpoint: Endpoint, began: MonotonicTime, at now: MonotonicTime
  ) -> EndpointEvent? {
    let event = fields.withLock { fields in
      let event = fields.roster.ended(ending, of: endpoint, began: began, random: fields.jitter, at: now)
      if case .ejected? = event?.kind {
        // Steps of the golden ratio keep ejections of one time apart.
        fields.jitter += 0.618_033_988_749_895
        if fields.jitter >= 1 { fields.jitter -= 1 }
      }
      return event
    }
    if event != nil { tellAvailable() }
    return event
  }

  /// Leaves an endpoint out for so many seconds, as it has asked for that.
  ///
  /// - Returns: Whether it is left out, as is one that is gone. It is not if no other endpoint is available. If it was not left out for that
  ///   before, the event, for logs and metrics.
  func leavesOut(
    _ endpoint: Endpoint, for seconds: Double, at now: MonotonicTime
  ) -> (leaves: Bool, event: EndpointEvent?) {
    let answer = fields.withLock { $0.roster.leavesOut(endpoint, for: seconds, at: now) }
    if answer.event != nil { tellAvailable() }
    return answer
  }

  /// Tells the result of an active check. A good one ends an ejection.
  ///
  /// - Returns: The changes, for logs and metrics.
  package func checked(
    _ endpoint: Endpoint, isGood: Bool, _ thresholds: CheckThresholds, at now: MonotonicTime
  ) -> [EndpointEvent] {
    let events = fields.withLock { $0.roster.checked(endpoint, isGood: isGood, thresholds, at: now) }
    if !events.isEmpty { tellAvailable() }
    return events
  }

  /// There are no active checks any more: endpoints that they found unhealthy count as available.
  package func forgetChecks(at now: MonotonicTime) {
    fields.withLock { $0.roster.forgetChecks(at: now) }
    tellAvailable()
  }

  /// Has `hear` called, on any thread, whenever ``serving`` may have changed. Threads whose changes are close to each other
  /// may call it in another order.
  package func onAvailable(_ hear: @escaping @Sendable () -> Void) { listener.withLock { $0.hear = hear } }

  private func tellAvailable() {
    let hear = listener.withLock { $0.hear }
    hear?()
  }

  /// The number of endpoints that get requests: the available ones, or all if none is. Read without a lock.
  package var serving: Int {
    let available = totals.available
    return available > 0 ? available : count.load(ordering: .relaxed)
  }

  /// The numbers for metrics.
  package func report(at now: MonotonicTime) -> EndpointReport {
    fields.withLock { $0.roster.report(at: now) }
  }
}

/// The open connections to one endpoint. Connections that lead there have it as their tag.
final class EndpointConnections: Sendable {
  /// The tag that the connections would have without endpoints.
  let owner: any AnyObject & Sendable
  private let number = Atomic<Int>(0)

  init(_ owner: any AnyObject & Sendable) {
    self.owner = owner
  }

  var count: Int { number.load(ordering: .relaxed) }

  func opened() { number.wrappingAdd(1, ordering: .relaxed) }

  func closed() { number.wrappingSubtract(1, ordering: .relaxed) }
}

import Synchronization
import WeirIO
import WeirTransport

/// An authority to which requests have asked to go, as a process keeps it: a destination of its own, whichever of the
/// configuration's upstreams has the same name.
final class RequestedAuthority: Sendable {
  let state: DestinationState
  /// Limits the requests that stream a body to it.
  let uploads = Gate(limit: TransportLimits.requested.slots / 2)

  init(_ destination: Destination) {
    state = DestinationState(destination, limits: .requested)
  }

  /// Whether no request is under way there.
  var isIdle: Bool { state.isIdle && uploads.isEmpty }
}

/// The authorities to which requests have asked to go, with the plans for them. Shared by all workers, and kept through
/// reloads.
///
/// When there are too many, those that were asked for the longest time ago go, an eighth at once, but none with
/// requests under way: a second state would give away its slots again.
final class RequestedAuthorities: Sendable {
  private struct Entry {
    let authority: RequestedAuthority
    /// The plans of the routes that have led there, one for each spelling.
    var plans: [(route: RequestedRoute, plan: RoutePlan)]
    var lastUsed: MonotonicTime

    var upstreams: [Upstream] { plans.map(\.plan.upstream) }
  }

  private struct State {
    var entries: [Destination: Entry] = [:]
    /// The number of entries at which some go; it exceeds the capacity only while more have requests under way.
    var limit: Int
    let capacity: Int

    private var share: Int { max(1, capacity / 8) }

    /// Lets the oldest ones go. Returns their upstreams.
    mutating func letGo() -> Set<Upstream> {
      let idle = entries.filter { $0.value.authority.isIdle }.sorted { $0.value.lastUsed < $1.value.lastUsed }
      let gone = idle.prefix(max(share, entries.count - capacity + share))
      for (destination, entry) in gone {
        entries[destination] = nil
        entry.authority.state.retire()
      }
      limit = max(capacity, entries.count + share)
      return Set(gone.flatMap(\.value.upstreams))
    }
  }

  /// The number of authorities that are remembered.
  static let capacity = 1000

  private let state: Mutex<State>
  private let tell = Mutex<@Sendable (Set<Upstream>) -> Void>({ _ in })

  init(capacity: Int = RequestedAuthorities.capacity) {
    state = Mutex(State(limit: capacity, capacity: capacity))
  }

  /// Has `tell` called with the upstreams of those that are forgotten, on the worker whose request names one too many.
  func onForget(_ tell: @escaping @Sendable (Set<Upstream>) -> Void) { self.tell.withLock { $0 = tell } }

  var destinations: [Destination] { state.withLock { Array($0.entries.keys) } }

  /// The plan of a route for an authority.
  ///
  /// - Parameter make: Makes it, if there is none.
  func plan(
    to upstream: Upstream, of route: RequestedRoute, at now: MonotonicTime,
    _ make: (RequestedAuthority) -> RoutePlan
  ) -> RoutePlan {
    let destination = upstream.destination
    let (plan, forgotten): (RoutePlan, Set<Upstream>) = state.withLock { state in
      if let index = state.entries.index(forKey: destination) {
        state.entries.values[index].lastUsed = now
        let known = state.entries.values[index].plans.first { $0.route === route && $0.plan.upstream == upstream }
        if let known { return (known.plan, []) }
        let plan = make(state.entries.values[index].authority)
        state.entries.values[index].plans.append((route, plan))
        return (plan, [])
      }
      let forgotten = state.entries.count >= state.limit ? state.letGo() : []
      let authority = RequestedAuthority(destination)
      let plan = make(authority)
      state.entries[destination] = Entry(authority: authority, plans: [(route, plan)], lastUsed: now)
      return (plan, forgotten)
    }
    if !forgotten.isEmpty { tell.withLock { $0 }(forgotten) }
    return plan
  }

  /// Drops what is known for other routes than these. Requests under way keep theirs.
  func follow(_ routes: [RequestedRoute]) {
    let forgotten: Set<Upstream> = state.withLock { state in
      if routes.isEmpty {
        defer { state.entries = [:] }
        for entry in state.entries.values { entry.authority.state.retire() }
        return Set(state.entries.values.flatMap(\.upstreams))
      }
      for index in state.entries.values.indices {
        state.entries.values[index].plans.removeAll { known in !routes.contains { $0 === known.route } }
      }
      return []
    }
    if !forgotten.isEmpty { tell.withLock { $0 }(forgotten) }
  }
}

extension TransportLimits {
  /// The connections to one authority that clients ask for.
  static let requested = TransportLimits(slots: 64, waiting: 10_000, admissionTimeout: 30, parked: 64)
}

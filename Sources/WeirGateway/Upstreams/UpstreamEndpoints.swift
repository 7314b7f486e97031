import Synchronization
import WeirIO
import WeirTransport

/// The endpoints of one entry of `upstreams`, from all its places, with the limits that follow from their number. All
/// workers share it, and it outlives reloads that keep the entry.
final class UpstreamEndpoints: Sendable {
  private struct Fields: Sendable {
    var upstream: NamedUpstream
    var sources: EndpointSources
    /// The number of endpoints in use.
    var count = 0
    var isCut = false
    /// The endpoints that the destination policy leaves out.
    var refused: [String] = []
  }

  let name: String
  /// The state of its destination, with the slots; kept for as long as the entry is there.
  private let state: DestinationState
  let set: EndpointSet
  /// Limits the slots that are held by requests whose bodies are still coming. The others are left to requests that are
  /// complete.
  let uploads: Gate
  let discoveries: DiscoveryCounts
  let checks = CheckCounts()
  private let fields: Mutex<Fields>
  /// Nil once another entry decides on the number of slots. Read under the locks of what is resized.
  private let connection: Mutex<ConnectionSettings?>

  /// - Parameter old: The entry of the same name that this one replaces. The last answers of its places and what is
  ///   under way stay; the health of its endpoints was learned on connections of another kind, and begins anew.
  init(
    _ upstream: NamedUpstream, _ state: DestinationState, replacing old: UpstreamEndpoints? = nil,
    at now: MonotonicTime
  ) {
    name = upstream.name
    self.state = state
    set = EndpointSet(settings: upstream.endpoints, owner: state, at: now)
    uploads = old?.uploads ?? Gate(limit: max(1, upstream.connection.perEndpoint / 2))
    discoveries = old?.discoveries ?? DiscoveryCounts()
    fields = Mutex(Fields(upstream: upstream, sources: old?.fields.withLock { $0.sources } ?? EndpointSources()))
    connection = Mutex(upstream.connection)
    set.onAvailable { [weak self] in self?.resize() }
    if let old, old.state === state {
      // Requests under way by the old entry no longer decide on the number of slots, which both share.
      old.connection.withLock { $0 = nil }
    } else {
      resize(least: 1)
    }
  }

  var upstream: NamedUpstream { fields.withLock { $0.upstream } }

  /// Whether each place has answered or failed.
  var isSettled: Bool { fields.withLock { $0.sources.isSettled } }

  /// The number of endpoints in use.
  var count: Int { fields.withLock { $0.count } }

  /// The endpoints that the destination policy leaves out.
  var refused: [String] { fields.withLock { $0.refused } }

  /// Takes the entry as a configuration has it.
  ///
  /// - Parameter room: The number of endpoints that there may be.
  func follow(_ upstream: NamedUpstream, room: Int, at now: MonotonicTime) {
    connection.withLock { $0 = upstream.connection }
    fields.withLock { fields in
      fields.upstream = upstream
      let places = Dictionary(upstream.places.map { ($0.name, $0) }) { first, _ in first }
      fields.sources.follow(upstream.written, Set(places.keys)) { place, endpoint in
        places[place].map { upstream.adopt(endpoint, at: $0) } ?? endpoint
      }
      publish(&fields, room: room, at: now)
    }
    resize()
    if upstream.check == nil { set.forgetChecks(at: now) }
  }

  /// A place has answered, with its endpoints as they are looked up.
  ///
  /// - Parameters:
  ///   - isCut: Whether the place had more of them.
  ///   - stays: Whether an endpoint of the place's last answer stays although this one lacks it, because the lookup that
  ///     would have found it failed. If one does, the question counts as failed.
  /// - Returns: What the answer came to, and whether an endpoint stays so.
  func answered(
    _ place: EndpointSources.Place, _ endpoints: [EndpointSpec], isCut: Bool = false,
    stays: (EndpointSpec) -> Bool = { _ in false }, room: Int, at now: MonotonicTime
  ) -> (result: Discovery, keepsSome: Bool) {
    var keepsSome = false
    let result: Discovery = fields.withLock { fields in
      if endpoints.isEmpty {
        fields.sources.failed(place)
        return .failed
      }
      // There may be room now for what was cut before.
      let hasChanged = fields.sources.answered(place, endpoints) { endpoint in
        let isKept = stays(endpoint)
        if isKept { keepsSome = true }
        return isKept
      }
      guard hasChanged || fields.isCut else { return .same }
      publish(&fields, room: room, at: now)
      return fields.isCut || isCut ? .truncated : .changed
    }
    discoveries.count(keepsSome ? .failed : result)
    return (result, keepsSome)
  }

  /// A place could not be asked, or its answer is of no use.
  func failed(_ place: EndpointSources.Place) {
    fields.withLock { $0.sources.failed(place) }
    discoveries.count(.failed)
  }

  private func publish(_ fields: inout Fields, room: Int, at now: MonotonicTime) {
    let upstream = fields.upstream
    let (found, isCut) = fields.sources.endpoints(limit: min(NamedUpstream.maximumFound, room))
    let policy = upstream.destinationPolicy
    let refused = found.filter { !$0.isUnixSocket && policy.refusal(ofHost: $0.host) != nil }
    // If the policy refuses all of them, each attempt is refused with its reason.
    let used = refused.count < found.count ? found.filter { !refused.contains($0) } : found
    fields.isCut = isCut
    fields.refused = refused.map(\.name)
    fields.count = used.count
    set.update(used, settings: upstream.endpoints, at: now)
  }

  /// The slots are those of the endpoints that get requests. Until there is one, they stay as they are: requests by the
  /// plan before a reload may still need them.
  ///
  /// - Parameter least: The number of endpoints for which there are slots at least.
  private func resize(least: Int = 0) {
    state.resize { limits(least).map { ($0.slots, $0.parked) } }
    uploads.resize { limits(least)?.uploads }
  }

  /// The limits by the numbers of this moment; nil if they stay as they are.
  private func limits(_ least: Int) -> (slots: Int, parked: Int, uploads: Int)? {
    let count = max(least, set.serving)
    guard count > 0, let connection = connection.withLock({ $0 }) else { return nil }
    let slots = connection.perEndpoint * count
    return (slots, connection.parked ?? slots, max(1, connection.uploads ?? slots / 2))
  }
}

/// A place that tells of endpoints.
struct EndpointPlace: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    /// A name, whose addresses all get this endpoint's port, weight and priority.
    case name(EndpointSpec)
    case services(String)
    case file(String)
  }

  let kind: Kind
  let name: EndpointSources.Place
}

extension NamedUpstream {
  /// The endpoints that need no lookup: addresses, and names that a proxy looks up.
  var written: [EndpointSpec] {
    guard case .listed(let endpoints) = source else { return [] }
    return endpoints.filter { !isLookedUp($0) }.map { $0.named(by: url(of: $0)) }
  }

  var places: [EndpointPlace] {
    switch source {
    case .listed(let endpoints):
      endpoints.filter(isLookedUp).map { EndpointPlace(kind: .name($0), name: $0.name) }
    case .services(let name): [EndpointPlace(kind: .services(name), name: name)]
    case .file(let path): [EndpointPlace(kind: .file(path), name: path)]
    }
  }

  /// An endpoint that a place has told of before, with the weight, priority and URL that the place gives it now.
  func adopt(_ endpoint: EndpointSpec, at place: EndpointPlace) -> EndpointSpec {
    switch place.kind {
    case .name(let spec): return endpoint.with(weight: spec.weight, priority: spec.priority).named(by: url(of: spec))
    case .file: return endpoint.named(by: url(of: endpoint))
    case .services:
      guard let known = endpoint.url, !known.hasPrefix("\(target.scheme.rawValue)://") else { return endpoint }
      // The URL alone has the name of the record's target.
      let host = (try? Upstream(parsing: known))?.host ?? endpoint.host
      return endpoint.named(by: url(of: EndpointSpec(host: host, port: endpoint.port)))
    }
  }

  /// The URL with the endpoint's host as it is written, for Host and TLS.
  func url(of endpoint: EndpointSpec) -> String {
    if endpoint.isUnixSocket { return "\(target.scheme.rawValue)://localhost/" }
    let host = CanonicalHost(endpoint.host).inURL
    return "\(target.scheme.rawValue)://\(Upstream.authority(host, endpoint.port, of: target.scheme))/"
  }
}

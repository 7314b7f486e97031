import Synchronization
import WeirIO
import WeirTransport

/// The endpoints of all entries of `upstreams`. It outlives reloads, so that what is known of endpoints stays.
final class UpstreamRegistry: Sendable {
  /// The most endpoints of all upstreams together.
  static let maximumEndpoints = 16_384

  private let destinations: DestinationTable
  private let entries = Mutex<[String: UpstreamEndpoints]>([:])

  init(_ destinations: DestinationTable) {
    self.destinations = destinations
  }

  /// All entries, by name.
  var all: [String: UpstreamEndpoints] { entries.withLock { $0 } }

  /// Takes the entries of a configuration. Entries that it doesn't have go.
  func follow(_ upstreams: [NamedUpstream], at now: MonotonicTime = .now) {
    let before = all
    var entries: [String: UpstreamEndpoints] = [:]
    for upstream in upstreams {
      let entry = before[upstream.name] ?? UpstreamEndpoints(upstream, at: now)
      entries[upstream.name] = entry
    }
    self.entries.withLock { $0 = entries }
    for upstream in upstreams {
      guard let entry = entries[upstream.name] else { continue }
      let state = destinations.state(for: upstream.target.destination, limits: .gateway)
      entry.follow(upstream, state, room: room(for: entry), at: now)
    }
  }

  /// The number of endpoints that an entry may have beside all others.
  func room(for entry: UpstreamEndpoints) -> Int {
    Self.maximumEndpoints - all.values.reduce(0) { $0 + ($1 === entry ? 0 : $1.count) }
  }
}

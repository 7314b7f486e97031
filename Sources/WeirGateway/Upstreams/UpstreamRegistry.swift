import Synchronization
import WeirIO
import WeirTransport

/// The endpoints of all entries of `upstreams`. It outlives reloads, so that what is known of endpoints stays. Entries that
/// need lookups, files or checks are followed on a loop of their own, `weir.control`; other threads read the files.
final class UpstreamRegistry: Sendable {
  /// The most endpoints of all upstreams together.
  static let maximumEndpoints = 16_384

  private struct Control {
    let discovery: EndpointDiscovery
    let checks: EndpointChecks
  }

  private let destinations: DestinationTable
  private let credentials: CredentialRegistry
  private let mark: FileMark.Reader
  private let log: Logger
  private let lag: @Sendable () -> (@Sendable (Double) -> Void)?
  private let entries = Mutex<[String: UpstreamEndpoints]>([:])
  /// Nil until an entry needs it.
  private let control = Mutex<LoopBound<Control>?>(nil)

  /// - Parameters:
  ///   - mark: Called by threads that nothing else waits for.
  ///   - lag: Makes the observer of the loop's lag, once there is the loop.
  init(
    _ destinations: DestinationTable, credentials: CredentialRegistry,
    mark: @escaping FileMark.Reader = { FileMark(ofFile: $0) }, log: Logger,
    lag: @escaping @Sendable () -> (@Sendable (Double) -> Void)?
  ) {
    self.destinations = destinations
    self.credentials = credentials
    self.mark = mark
    self.log = log
    self.lag = lag
  }

  deinit {
    close()
  }

  /// All entries, by name.
  var all: [String: UpstreamEndpoints] { entries.withLock { $0 } }

  /// Makes what entries need that may fail.
  func prepare(for upstreams: [NamedUpstream]) throws(Errno) { _ = try control(for: upstreams) }

  /// Takes the entries of a configuration. Entries that it doesn't have go.
  func follow(_ upstreams: [NamedUpstream], at now: MonotonicTime = .now) throws(Errno) {
    let control = try control(for: upstreams)
    let before = all
    var entries: [String: UpstreamEndpoints] = [:]
    for upstream in upstreams {
      let old = before[upstream.name]
      if let old, old.upstream.talks(like: upstream) {
        entries[upstream.name] = old
        continue
      }
      // Requests by the present plan keep the endpoints that they know, since the new ones are talked to in another way.
      let state = destinations.state(for: upstream.target.destination, limits: .gateway)
      entries[upstream.name] = UpstreamEndpoints(upstream, state, replacing: old, at: now)
    }
    let present = entries
    self.entries.withLock { $0 = present }
    var used = count
    for upstream in upstreams {
      guard let entry = entries[upstream.name] else { continue }
      used -= entry.count
      entry.follow(upstream, room: max(1, Self.maximumEndpoints - used), at: now)
      used += entry.count
    }
    control?.loop.post {
      control?.value.discovery.follow(Array(present.values))
      control?.value.checks.follow(Array(present.values))
    }
  }

  /// Waits until each place has answered or failed.
  func settle(within seconds: Double) async {
    let end = MonotonicTime.now.advanced(bySeconds: seconds)
    while all.values.contains(where: { !$0.isSettled }), MonotonicTime.now < end {
      try? await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Ends lookups, looks at files, and checks.
  func close() {
    let control = control.withLock { $0 }
    control?.loop.post {
      control?.value.discovery.close()
      control?.value.checks.close()
    }
  }

  /// The number of endpoints that an entry may have beside all others.
  func room(for entry: UpstreamEndpoints) -> Int { max(1, Self.maximumEndpoints - count + entry.count) }

  /// The loop that looks up, has files read and checks; nil until an entry needs it.
  var loop: EventLoop? { control.withLock { $0 }?.loop }

  /// The endpoints of all entries.
  private var count: Int { all.values.reduce(0) { $0 + $1.count } }

  private func control(for upstreams: [NamedUpstream]) throws(Errno) -> LoopBound<Control>? {
    if let present = control.withLock({ $0 }) { return present }
    guard upstreams.contains(where: { $0.check != nil || !$0.places.isEmpty }) else { return nil }
    let loop = try EventLoop(name: "weir.control")
    if let lag = lag() { loop.post { loop.observeLag(lag) } }
    let made = LoopBound(
      Control(
        discovery: EndpointDiscovery(self, mark: mark, log: log, on: loop),
        checks: EndpointChecks(credentials, log: log, on: loop)), on: loop)
    control.withLock { $0 = made }
    return made
  }
}

extension TransportLimits {
  /// The connections to one upstream. Streams and long polls hold theirs for long, so there are more than for a
  /// service's own client.
  static let gateway = TransportLimits(slots: 512, waiting: 10_000, admissionTimeout: 30, parked: 512)

  /// The number of requests whose bodies are still coming that may have a connection to one upstream: half of them.
  static let gatewayUploads = gateway.slots / 2
}

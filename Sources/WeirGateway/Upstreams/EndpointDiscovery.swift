import WeirIO
import WeirResolver
import WeirTransport

/// Follows the places that tell of endpoints: looks names up again and again, and has files looked at every second.
/// Confined to the loop.
final class EndpointDiscovery {
  /// Seconds between two looks at a file.
  private static let interval = 1.0
  /// Seconds after which a look at a file that has no end counts as a failure.
  private static let patience = 5.0

  private struct Key: Hashable {
    /// The identity of the entry.
    let entry: ObjectIdentifier
    let place: EndpointPlace
    let rules: ResolveSettings
  }

  private final class WatchedFile {
    let path: String
    let entry: UpstreamEndpoints
    let place: EndpointSources.Place
    /// The file as it was read last; nil before the first look, and if there was none.
    var mark: FileMark?
    /// When the look under way counts as a failure; nil between two looks.
    var late: MonotonicTime?
    /// When it is read even if it has not changed: at once before the first look, and again after a failure.
    var due: MonotonicTime? = .now
    var schedule: LookupSchedule
    /// Makes the looks, each of which may take as long as the file system keeps its callers waiting.
    let worker = WorkerPool(name: "weir.files", width: 1, idleTime: 0)

    init(_ path: String, _ entry: UpstreamEndpoints, _ place: EndpointSources.Place, _ rules: ResolveSettings) {
      self.path = path
      self.entry = entry
      self.place = place
      schedule = LookupSchedule(minimum: rules.minimum, maximum: rules.maximum)
    }
  }

  private let loop: EventLoop
  /// Owns this object.
  private weak let registry: UpstreamRegistry?
  private let log: DiscoveryLog
  private lazy var names = NameWatcher(loop: loop)
  private var watches: [Key: Watch] = [:]
  private var files: [Key: WatchedFile] = [:]
  private let mark: FileMark.Reader
  private let timer = LoopTimer()

  init(_ registry: UpstreamRegistry, mark: @escaping FileMark.Reader, log: Logger, on loop: EventLoop) {
    self.registry = registry
    self.loop = loop
    self.mark = mark
    self.log = DiscoveryLog(log)
  }

  /// Follows the places of these entries, and no others any more.
  func follow(_ entries: [UpstreamEndpoints]) {
    var wanted: [Key: UpstreamEndpoints] = [:]
    for entry in entries {
      let upstream = entry.upstream
      for place in upstream.places {
        wanted[Key(entry: ObjectIdentifier(entry), place: place, rules: upstream.resolve)] = entry
      }
    }
    for (key, watch) in watches where wanted[key] == nil {
      watch.cancel()
      watches[key] = nil
    }
    files = files.filter { wanted[$0.key] != nil }
    if !watches.isEmpty { names.reload() }
    for (key, entry) in wanted where watches[key] == nil && files[key] == nil { begin(key, entry) }
    lookAtFiles()
  }

  func close() {
    loop.cancel(timer)
    files = [:]
    if !watches.isEmpty { names.close() }
    watches = [:]
  }

  private func begin(_ key: Key, _ entry: UpstreamEndpoints) {
    let family: Question.Family =
      switch key.rules.family {
      case .any: .any
      case .ipv4: .ipv4
      case .ipv6: .ipv6
      }
    switch key.place.kind {
    case .name(let spec):
      watch(key, .addresses(of: spec.host, family: family), entry) { answer, upstream in
        let url = upstream.url(of: spec)
        let endpoints = answer.entries.map { found in
          EndpointSpec(
            host: "\(found.address)", port: spec.port, url: url, weight: spec.weight, priority: spec.priority)
        }
        let missing = answer.gaps.map { FoundEndpoints.Gap(url: url, family: $0.family) }
        return FoundEndpoints(endpoints: endpoints, missing: Set(missing))
      }
    case .services(let name):
      watch(key, .services(of: name, family: family), entry) { $0.endpoints(of: $1) }
    case .file(let path): files[key] = WatchedFile(path, entry, key.place.name, key.rules)
    }
  }

  // MARK: Names

  private func watch(
    _ key: Key, _ question: Question, _ entry: UpstreamEndpoints,
    _ read: @escaping (Answer, NamedUpstream) -> FoundEndpoints
  ) {
    let place = key.place.name
    let settings = key.rules
    let rules = ResolveRules(
      minimum: settings.minimum, maximum: settings.maximum, timeout: settings.timeout, servers: settings.servers)
    watches[key] = names.watch(question, rules: rules) { [weak self] lookup in
      guard let self else { return }
      let now = MonotonicTime.now
      switch lookup {
      case .success(let answer):
        let found = read(answer, entry.upstream)
        let (result, keepsSome) = entry.answered(
          place, found.endpoints, isCut: answer.isCut, stays: { found.lacks($0) },
          room: registry?.room(for: entry) ?? 0, at: now)
        if answer.unresolvedTargets > 0 {
          let problem = "\(answer.unresolvedTargets) targets of \(question) could not be looked up"
          log.failed(entry, at: place, problem, at: now)
        } else if keepsSome {
          log.failed(entry, at: place, "some addresses of \(question) could not be looked up", at: now)
        } else if result == .failed {
          log.failed(entry, at: place, "\(question): no record has a port", at: now)
        } else {
          log.found(result, entry, at: place, at: now)
        }
      case .failure(let problem):
        entry.failed(place)
        log.failed(entry, at: place, "\(question): \(problem)", at: now)
      }
    }
  }

  // MARK: Files

  private func lookAtFiles() {
    loop.cancel(timer)
    if files.isEmpty { return }
    let now = MonotonicTime.now
    for file in files.values {
      if let late = file.late {
        guard late <= now else { continue }
        file.late = failed(file, "\(file.path): the file system does not answer", at: now)
        // Once it does, the file is read again, so that the failure is over.
        file.due = now
      } else {
        look(at: file, now)
      }
    }
    loop.schedule(timer, at: now.advanced(bySeconds: Self.interval), handler: self)
  }

  private func look(at file: WatchedFile, _ now: MonotonicTime) {
    file.late = now.advanced(bySeconds: Self.patience)
    let isDue = file.due.map { $0 <= now } ?? false
    let bound = LoopBound(confining: LookedAt(discovery: self, file: file), on: loop)
    file.worker.submit { [path = file.path, before = file.mark, mark] in
      let look = EndpointFileLook(at: path, after: before, isDue: isDue, mark: mark)
      bound.loop.post {
        guard let discovery = bound.value.discovery, let file = bound.value.file else { return }
        discovery.ended(look, of: file, at: .now)
      }
    }
  }

  private func ended(_ look: EndpointFileLook, of file: WatchedFile, at now: MonotonicTime) {
    file.late = nil
    switch look {
    case .same: break
    case .changing(let mark):
      file.mark = mark
      file.due = now
    case .unusable(let mark, let problem):
      file.mark = mark
      file.due = failed(file, problem, at: now)
    case .read(let mark, let found):
      file.mark = mark
      file.due = nil
      let upstream = file.entry.upstream
      let result = file.entry.answered(
        file.place, found.map { $0.named(by: upstream.url(of: $0)) }, room: registry?.room(for: file.entry) ?? 0,
        at: now
      ).result
      log.found(result, file.entry, at: file.place, at: now)
      _ = file.schedule.answered(.addresses, ttl: nil, at: now, random: 0)
    }
  }

  /// Notes a failure. Returns when it is time for the next try.
  private func failed(_ file: WatchedFile, _ problem: String, at now: MonotonicTime) -> MonotonicTime {
    file.entry.failed(file.place)
    log.failed(file.entry, at: file.place, problem, at: now)
    return file.schedule.failed(at: now)
  }

  /// A file whose look is under way, as long as it is followed.
  private struct LookedAt {
    weak var discovery: EndpointDiscovery?
    weak var file: WatchedFile?
  }
}

extension EndpointDiscovery: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) { lookAtFiles() }
}

/// The endpoints of an answer, and which others it may lack.
private struct FoundEndpoints {
  struct Gap: Hashable {
    /// The URL of the endpoints, which has the name that could not be looked up.
    let url: String
    let family: Question.Family
  }

  let endpoints: [EndpointSpec]
  let missing: Set<Gap>

  func lacks(_ endpoint: EndpointSpec) -> Bool {
    guard let url = endpoint.url, let address = IPAddress(host: endpoint.host) else { return false }
    return missing.contains(Gap(url: url, family: Question.Family(of: address)))
  }
}

extension Answer {
  /// The endpoints of a service. Weights beyond those of endpoints are scaled down.
  fileprivate func endpoints(of upstream: NamedUpstream) -> FoundEndpoints {
    let most = entries.map(\.weight).max() ?? 1
    let scale = min(1, Double(EndpointSpec.weights.upperBound) / Double(most))
    let endpoints: [EndpointSpec] = entries.compactMap { entry in
      guard let port = entry.port.map(Int.init), port > 0 else { return nil }
      let written = EndpointSpec(host: entry.target ?? "\(entry.address)", port: port)
      return EndpointSpec(
        host: "\(entry.address)", port: port, url: upstream.url(of: written),
        weight: Int((Double(entry.weight) * scale).rounded(.up)), priority: entry.priority)
    }
    let missing: [FoundEndpoints.Gap] = gaps.compactMap { gap in
      guard let target = gap.target, let port = gap.port.map(Int.init) else { return nil }
      return FoundEndpoints.Gap(url: upstream.url(of: EndpointSpec(host: target, port: port)), family: gap.family)
    }
    return FoundEndpoints(endpoints: endpoints, missing: Set(missing))
  }
}

/// The lines about places of endpoints that fail, and about answers that can't be used whole: at most one line of a text
/// and upstream in a minute. Confined to the control loop.
final class DiscoveryLog {
  /// Seconds between two lines of one kind.
  private static let interval = 60.0

  private struct Kind: Hashable {
    let upstream: String
    let text: String
  }

  private let log: Logger
  private var told: [Kind: MonotonicTime] = [:]
  /// The places of which a failure was told last.
  private var failing: Set<Kind> = []
  /// The lines that are remembered.
  private static let mostKinds = 1000

  init(_ log: Logger) {
    self.log = log
  }

  func found(
    _ result: Discovery, _ entry: UpstreamEndpoints, at place: EndpointSources.Place, at now: MonotonicTime
  ) {
    let name = LogValue.string(entry.name), count = LogValue.integer(entry.count)
    if failing.remove(Kind(upstream: entry.name, text: place)) != nil {
      log.info("endpoints are found again", ["upstream": name, "place": .string(place), "endpoints": count])
    } else if result == .changed || result == .truncated {
      log.debug("endpoints changed", ["upstream": name, "endpoints": count])
    }
    if result == .truncated, isDue("cut", entry, at: now) {
      log.warn("too many endpoints; the first are used", ["upstream": name, "endpoints": count])
    }
    let refused = entry.refused
    if let first = refused.first, isDue("refused", entry, at: now) {
      log.warn(
        "the destination policy refuses endpoints",
        ["upstream": name, "endpoints": .integer(refused.count), "endpoint": .string(first)])
    }
  }

  func failed(
    _ entry: UpstreamEndpoints, at place: EndpointSources.Place, _ problem: String, at now: MonotonicTime
  ) {
    failing.insert(Kind(upstream: entry.name, text: place))
    guard isDue(problem, entry, at: now) else { return }
    let consequence = entry.count > 0 ? "the last ones stay" : "there are none yet"
    log.warn(
      "endpoints can't be found; \(consequence)",
      ["upstream": .string(entry.name), "endpoints": .integer(entry.count), "problem": .string(problem)])
  }

  private func isDue(_ text: String, _ entry: UpstreamEndpoints, at now: MonotonicTime) -> Bool {
    let kind = Kind(upstream: entry.name, text: text)
    if let last = told[kind], now.seconds(since: last) < Self.interval { return false }
    if told.count >= Self.mostKinds { told = [:] }
    told[kind] = now
    return true
  }
}

import Synchronization

/// The metrics of a process, or of a part of it: where they are registered and read.
///
/// Safe to use from any thread. Registering is rare and takes a lock; counting never does. There is no global registry:
/// make one and pass it on.
///
/// Registering a metric again with the same description returns the same metric. With another description it throws a
/// ``RegistryError``, which is also counted in `weir_metrics_registration_errors_total`.
public final class Registry: Sendable {
  private let state: Mutex<State>
  /// Where ``State/texts`` may be read without the lock.
  private let publishedTexts: PublishedTable<SeriesStore>.Address
  private let seed = UInt64.random(in: .min ... .max)
  private let seriesLimit: Int
  private let clock: WallClock
  /// Buckets of histograms, by name. They replace those with which the histogram is registered.
  let buckets: [String: Buckets]
  package let nativeHistograms: NativeHistograms
  /// Registrations refused, in the order of `RegistryError.reasons`.
  private let refused = AtomicSlab(words: RegistryError.reasons.count)

  fileprivate struct State {
    var families: [String: any MetricFamily] = [:]
    /// The families with labels as text, by the hash of their name.
    var texts: PublishedTable<SeriesStore>
    /// Every name on a page, with the metric to which it belongs.
    var claims: [String: String] = [:]
    var collectors: [CollectorEntry] = []
    /// Called before each page.
    var preparations: [@Sendable () -> Void] = []
    /// One object of each type for those who share the registry.
    var companions: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    /// The families by name; nil after a change.
    var sorted: [any MetricFamily]?
  }

  /// An empty registry.
  /// - Parameters:
  ///   - seriesLimit: How many label sets a family may have; 2,000 by default.
  ///   - ownMetrics: Whether the page has metrics of the registry itself: series per metric, and label sets folded,
  ///     updates ignored and registrations refused.
  ///   - buckets: Buckets of histograms, by name, in place of those with which they are registered. With them the
  ///     operator of a program can choose other bounds, or fewer, than its author did. Bounds that break a rule throw a
  ///     ``RegistryError`` when the histogram is registered.
  ///   - nativeHistograms: Histograms that are native ones too; none by default.
  public convenience init(
    seriesLimit: Int = 2_000, ownMetrics: Bool = true, buckets: [String: Buckets] = [:],
    nativeHistograms: NativeHistograms = .none
  ) {
    self.init(
      seriesLimit: seriesLimit, ownMetrics: ownMetrics, buckets: buckets, nativeHistograms: nativeHistograms,
      clock: .system)
  }

  init(
    seriesLimit: Int, ownMetrics: Bool, buckets: [String: Buckets] = [:], nativeHistograms: NativeHistograms = .none,
    clock: WallClock
  ) {
    self.seriesLimit = seriesLimit
    self.buckets = buckets
    self.nativeHistograms = nativeHistograms
    self.clock = clock
    let texts = ObjectTable<SeriesStore>(capacity: 4)
    publishedTexts = Atomic(Unmanaged.passUnretained(texts))
    state = Mutex(State(texts: PublishedTable(texts)))
    // Nothing can clash in an empty registry.
    if ownMetrics { try? add(OwnMetrics.families, collector: .registry) }
  }

  /// Takes a metric off the page; true if there was one. Handles that are still held keep working, but their counts no
  /// longer appear. A collector still provides its other metrics, if any.
  @discardableResult
  public func unregister(_ name: String) -> Bool {
    // A collector that goes is released outside the lock, since it may use the registry as it ends.
    let removed = state.withLock { state -> (any MetricFamily, [CollectorEntry])? in
      guard let family = state.families.removeValue(forKey: name) else { return nil }
      let before = state.collectors
      state.claims = state.claims.filter { $0.value != name }
      state.collectors = before.compactMap { $0.without(name) }
      state.sorted = nil
      if let store = family as? SeriesStore, store.descriptor.hasTextLabels {
        state.texts.remove(store, hash: hash(name), publishedTexts)
      }
      return (family, before)
    }
    return removed != nil
  }

  /// Calls `prepare` before each page is written, on the thread that writes the page and under no lock. It is for
  /// numbers that belong together and must be on the page as they were at one moment.
  package func beforeEachPage(_ prepare: @escaping @Sendable () -> Void) {
    state.withLock { $0.preparations.append(prepare) }
  }

  /// The object of this type that goes with the registry, made by the first one to ask.
  package func companion<Companion: AnyObject & Sendable>(_ make: () -> Companion) -> Companion {
    let made = make()
    return state.withLock { state in
      if let known = state.companions[ObjectIdentifier(Companion.self)] as? Companion { return known }
      state.companions[ObjectIdentifier(Companion.self)] = made
      return made
    }
  }

  /// All metrics by name, including those without any series.
  package var metrics: [MetricDescriptor] { all().families.map(\.descriptor) }

  /// The names of the histograms that are registered, sorted.
  package var histogramNames: [String] {
    state.withLock { $0.families.values.map(\.descriptor).filter { $0.kind == .histogram }.map(\.name) }.sorted()
  }

  /// Whether a page may show `name`, as a metric or as one of its samples.
  package func isRegistered(_ name: String) -> Bool {
    state.withLock { $0.claims[name] != nil }
  }

  /// The series that a metric has now, for readers other than pages. None for a metric that is computed or unknown.
  package func series(of metric: String) -> [Series] {
    let family = state.withLock { $0.families[metric] }
    return (family as? SeriesStore)?.series() ?? []
  }
}

extension Registry {
  /// Finds or makes a family of instruments.
  func store(_ descriptor: MetricDescriptor, limit: Int?) throws(RegistryError) -> SeriesStore {
    try counted { () throws(RegistryError) in
      let store = SeriesStore(try descriptor.validated(), limit: limit ?? seriesLimit, clock: clock)
      return try state.withLock { state throws(RegistryError) in
        guard let registered = state.families[descriptor.name] else {
          try state.add([store])
          if descriptor.hasTextLabels { state.texts.insert(store, hash: hash(descriptor.name), publishedTexts) }
          return store
        }
        if let conflict = descriptor.conflict(with: registered.descriptor) { throw conflict }
        guard let registered = registered as? SeriesStore else { throw .alreadyRegistered(metric: descriptor.name) }
        return registered
      }
    }
  }

  /// Passes the family with labels as text that has a name to `body`, found without a lock if none was ever
  /// unregistered. Nil if there is none.
  @inline(__always)
  func withTextStore<Result>(_ name: String, _ body: (SeriesStore) -> Result) -> Result? {
    let hash = hash(name)
    guard let table = publishedTexts.load(ordering: .acquiring) else {
      return state.withLock { $0.texts.table.first(hash) { $0.descriptor.name == name } }.map(body)
    }
    return table._withUnsafeGuaranteedRef { table in
      table.withFirst(hash, where: { $0.descriptor.name == name }, body)
    }
  }

  @inline(__always)
  private func hash(_ name: String) -> UInt64 { LabelHash(seed: seed).with(name).value }

  /// Adds metrics that are computed at the scrape: all or none of them.
  func add(_ metrics: [CollectedMetric], collector: CollectorEntry.Source) throws(RegistryError) {
    try counted { () throws(RegistryError) in
      var families: [CollectedFamily] = []
      for metric in metrics {
        let limit = metric.seriesLimit ?? seriesLimit
        families.append(CollectedFamily(try metric.descriptor.validated(), limit: limit, clock: clock))
      }
      let entry = CollectorEntry(source: collector, families: families)
      try state.withLock { state throws(RegistryError) in
        try state.add(families)
        state.collectors.append(entry)
      }
    }
  }

  /// All families by name, with the collectors.
  func all() -> (families: [any MetricFamily], collectors: [CollectorEntry]) {
    state.withLock { state in
      let sorted = state.sorted ?? state.families.values.sorted { $0.descriptor.name < $1.descriptor.name }
      state.sorted = sorted
      return (sorted, state.collectors)
    }
  }

  /// Brings numbers up to date that are only so on pages.
  package func prepareForPage() {
    for prepare in state.withLock({ $0.preparations }) { prepare() }
  }

  /// Registrations refused so far, by reason.
  var refusals: [(reason: String, count: UInt64)] {
    RegistryError.reasons.enumerated().map { ($1, refused.load($0)) }
  }

  /// Counts the registrations that `body` refuses.
  func counted<Result>(_ body: () throws(RegistryError) -> Result) throws(RegistryError) -> Result {
    do {
      return try body()
    } catch {
      if let index = RegistryError.reasons.firstIndex(of: error.reason) { refused.increment(index) }
      throw error
    }
  }
}

extension Registry.State {
  fileprivate mutating func add(_ added: [any MetricFamily]) throws(RegistryError) {
    var claims = claims
    for family in added {
      let name = family.descriptor.name
      if families[name] != nil { throw .alreadyRegistered(metric: name) }
      for claim in family.descriptor.claimedNames {
        if let owner = claims.updateValue(name, forKey: claim) {
          throw owner == name
            ? .alreadyRegistered(metric: name)
            : .nameClash(
              metric: family.descriptor.source, name: claim, owner: families[owner]?.descriptor.source ?? owner)
        }
      }
    }
    self.claims = claims
    for family in added { families[family.descriptor.name] = family }
    sorted = nil
  }
}

/// The metrics of a registry about itself.
enum OwnMetrics {
  static let series = "weir_metrics_series"
  static let folded = "weir_metrics_series_folded_total"
  static let invalid = "weir_metrics_invalid_updates_total"
  static let refused = "weir_metrics_registration_errors_total"

  static let families = [
    CollectedMetric(series, help: "Series per metric.", kind: .gauge, labels: ["metric"]),
    CollectedMetric(
      folded, help: "Lookups of label sets beyond the metric's limit: folded into _other, or dropped if it is a gauge.",
      kind: .counter, labels: ["metric"]),
    CollectedMetric(
      invalid, help: "Updates ignored because their value means nothing to the metric: negative, NaN or infinite.",
      kind: .counter, labels: ["metric"]),
    CollectedMetric(
      refused, help: "Metrics that could not be registered, by reason.", kind: .counter, labels: ["reason"]),
  ]

  static func collect(
    _ families: [any MetricFamily], _ refusals: [(reason: String, count: UInt64)], into samples: inout CollectedSamples
  ) {
    for family in families {
      guard let count = family.seriesCount else { continue }
      let name = family.descriptor.name
      samples.set(series, Double(count), labels: [name])
      if family.descriptor.kind == .info { continue }
      samples.set(invalid, family.tally.invalidUpdates, labels: [name])
      let hasLabels = family.descriptor.hasTextLabels || !family.descriptor.labels.isEmpty
      if hasLabels { samples.set(folded, family.tally.folded, labels: [name]) }
    }
    for (reason, count) in refusals { samples.set(refused, Double(count), labels: [reason]) }
  }
}

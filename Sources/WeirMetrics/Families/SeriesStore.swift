public import Synchronization

/// A family's series: finds them without a lock, makes them under one, and gives them sorted to a scrape. The first
/// removal of a series ends lookups without a lock (``PublishedTable``).
@usableFromInline
final class SeriesStore: MetricFamily {
  @usableFromInline let schema: LabelSchema
  @usableFromInline let seed = UInt64.random(in: .min ... .max)
  let tally: FamilyTally
  let descriptor: MetricDescriptor
  let pieces: ExpositionPieces
  private let limit: Int

  /// The table that may be read without the lock; nil after the first removal.
  @usableFromInline let published: Atomic<Unmanaged<ObjectTable<Series>>?>
  /// Set when the table has all label sets that it will ever have.
  @usableFromInline let isFull = Atomic<Bool>(false)
  @usableFromInline let overflow = LazyReference<Series>()

  private let state: Mutex<State>
  private let order = Mutex<[Series]>([])

  private struct State {
    var series: PublishedTable<Series>
    /// 1 if the series for folded label sets is in the table, beyond the limit; else 0.
    var extra = 0
    /// Series that count towards the limit.
    var count: Int { series.count - extra }
    /// The changes since the last scrape.
    var added: [Series] = []
    var removed: Set<ObjectIdentifier> = []
  }

  init(_ descriptor: MetricDescriptor, limit: Int, clock: WallClock) {
    self.descriptor = descriptor
    self.limit = max(limit, 1)
    pieces = ExpositionPieces(descriptor)
    tally = FamilyTally(clock: clock)
    schema = LabelSchema(names: descriptor.labels, omitsEmptyLast: descriptor.omitsEmptyLast)
    let table = ObjectTable<Series>(capacity: 4)
    published = Atomic(Unmanaged.passUnretained(table))
    state = Mutex(State(series: PublishedTable(table)))
  }

  /// The number of series on the page.
  var seriesCount: Int? {
    state.withLock { $0.series.count }
  }

  func content(_ collected: CollectedSamples) -> FamilyContent {
    .series(series())
  }

  /// Finds a series, without a lock if none was ever removed; nil sends the caller to `resolve`.
  @inlinable @inline(__always)
  func find(_ hash: LabelHash, _ matches: (inout LabelMatcher) -> Bool) -> Series? {
    if hash.isOversized { return nil }
    // Read before the search: a table that was full at that time has every series.
    let full = isFull.load(ordering: .acquiring)
    guard let table = published.load(ordering: .acquiring) else {
      guard let candidate = candidate(hash.value) else { return nil }
      var matcher = LabelMatcher(candidate)
      return withExtendedLifetime(candidate) { matches(&matcher) } ? candidate : nil
    }
    let found = table._withUnsafeGuaranteedRef { table in
      table.first(hash.value) { series in
        var matcher = LabelMatcher(series)
        return matches(&matcher)
      }
    }
    if let found { return found }
    return full ? folded() : nil
  }

  /// Finds the series with labels as text; nil sends the caller to `resolve`, once their names were checked.
  @inline(__always)
  func find(_ labels: [String: String]) -> Series? {
    var (hash, count) = (LabelHash(seed: seed), 0)
    for (name, value) in labels where !value.isEmpty {
      hash.add(name, value)
      count &+= 1
    }
    let full = isFull.load(ordering: .acquiring)
    guard let table = published.load(ordering: .acquiring) else {
      guard let candidate = candidate(hash.value), candidate.has(labels, count: count) else { return nil }
      return candidate
    }
    let found = table._withUnsafeGuaranteedRef { $0.first(hash.value) { $0.has(labels, count: count) } }
    if let found { return found }
    return full && !hash.isOversized && LabelSet.hasValidNames(labels) ? folded() : nil
  }

  /// The series with this hash, where reading needs the lock. The values are compared after the lock is released: they
  /// may have a caller's own type, whose code must not run under a lock.
  @usableFromInline
  func candidate(_ hash: UInt64) -> Series? {
    state.withLock { $0.series.table.first(hash) { _ in true } }
  }

  @usableFromInline
  func folded() -> Series? {
    guard let overflow = overflow.load() else { return nil }
    noteFolded()
    return overflow
  }

  func noteFolded() { tally.folded.wrappingAdd(1, ordering: .relaxed) }

  /// Finds or makes a series. Beyond the limit, the label set is folded.
  @usableFromInline
  func resolve(_ values: [String]) -> Series {
    findOrMake(values) ?? fold(schema.names)
  }

  /// Finds or makes the series with labels as text, whose names are valid.
  func resolve(_ labels: [String: String]) -> Series {
    let set = LabelSet(labels, seed: seed)
    return findOrMake(set.rendered(), set.hash, set) ?? fold(set.pairs.map(\.name))
  }

  /// Finds or makes a series; nil if there is no room.
  func findOrMake(_ values: [String]) -> Series? {
    findOrMake(schema.render(values), hash(values))
  }

  /// Takes a series off the page; true if there was one.
  func remove(_ values: [String]) -> Bool {
    remove(schema.render(values), hash(values))
  }

  /// Takes the series with labels as text off the page; true if there was one.
  func remove(_ labels: [String: String]) -> Bool {
    let set = LabelSet(labels, seed: seed)
    return remove(set.rendered(), set.hash)
  }

  /// Takes the series off the page whose label sets have the texts that are wanted; returns their number.
  func removeAll(_ isWanted: (UnsafeRawBufferPointer) -> Bool) -> Int {
    remove { state in state.series.table.all.filter { isWanted($0.element.text) } }
  }

  private func remove(_ find: (State) -> [(element: Series, hash: UInt64)]) -> Int {
    let (removed, pending) = state.withLock { state -> ([Series], Int) in
      let found = find(state).filter { $0.element !== overflow.load() }
      for (series, hash) in found {
        state.series.remove(series, hash: hash, published)
        state.removed.insert(ObjectIdentifier(series))
      }
      return (found.map(\.element), state.removed.count)
    }
    // Removed series must not pile up where there are no scrapes.
    if pending > 1_000 { _ = series() }
    // The references end here, after the lock.
    return withExtendedLifetime(removed) { removed.count }
  }

  /// All series, sorted by their labels. Blocks other scrapes, never a writer.
  func series() -> [Series] {
    order.withLock { sorted in
      let (added, removed) = state.withLock { state in
        defer {
          state.added = []
          state.removed = []
        }
        return (state.added, state.removed)
      }
      if !added.isEmpty { sorted = (sorted + added).sorted { compareText($0.text, $1.text) < 0 } }
      if !removed.isEmpty { sorted.removeAll { removed.contains(ObjectIdentifier($0)) } }
      return sorted
    }
  }
}

extension SeriesStore {
  private func series(_ labels: RenderedLabels, _ set: LabelSet?) -> Series {
    let bounds = descriptor.kind == .histogram ? descriptor.bounds : nil
    return Series(
      labels, set: set, bounds: bounds, isNative: descriptor.isNative, created: tally.clock.now(), tally: tally)
  }

  private func hash(_ values: [String]) -> UInt64 {
    var hash = LabelHash(seed: seed)
    for value in values { value.withLabelBytes { hash.combine($0) } }
    return hash.value
  }

  private func lookup(_ labels: RenderedLabels, _ hash: UInt64, _ state: borrowing State) -> Series? {
    labels.text.withUnsafeBytes { text in
      state.series.table.first(hash) { compareText($0.text, text) == 0 }
    }
  }

  private func findOrMake(_ labels: RenderedLabels, _ hash: UInt64, _ set: LabelSet? = nil) -> Series? {
    let (found, full) = state.withLock { state in (lookup(labels, hash, state), state.count >= limit) }
    if found != nil || full { return found }
    let candidate = series(labels, set)
    return state.withLock { state in
      if let found = lookup(labels, hash, state) { return found }
      return state.count < limit ? insert(candidate, hash, &state) : nil
    }
  }

  private func remove(_ labels: RenderedLabels, _ hash: UInt64) -> Bool {
    remove { state in lookup(labels, hash, state).map { [($0, hash)] } ?? [] } > 0
  }

  private func insert(_ series: Series, _ hash: UInt64, _ state: inout State) -> Series {
    state.series.insert(series, hash: hash, published)
    state.added.append(series)
    return series
  }

  /// The series for label sets beyond the limit. Its labels are all `_other`. For gauges no page shows it, as a sum of
  /// unrelated gauges means nothing.
  private func fold(_ names: [String]) -> Series {
    let series = state.withLock { state in
      let series = overflow.load() ?? overflow.storeIfNil(makeOverflow(names, &state))
      if !state.series.readsNeedLock, state.count >= limit { isFull.store(true, ordering: .releasing) }
      return series
    }
    noteFolded()
    return series
  }

  /// - Parameter names: The labels of the set that is folded.
  private func makeOverflow(_ names: [String], _ state: inout State) -> Series {
    let set = descriptor.hasTextLabels ? overflowSet(names, state) : nil
    let values = names.map { _ in LabelText.other }
    let labels = set?.rendered() ?? schema.render(values)
    let hash = set?.hash ?? hash(values)
    if descriptor.kind == .gauge { return series(labels, set) }
    if let found = lookup(labels, hash, state) { return found }
    // It needs no room.
    state.extra = 1
    return insert(series(labels, set), hash, &state)
  }

  /// All names are there that the family's series have: sums by any of them then show what was folded.
  private func overflowSet(_ names: [String], _ state: borrowing State) -> LabelSet {
    var labels: [String: String] = [:]
    for (series, _) in state.series.table.all {
      for (name, _) in series.labelSet?.pairs ?? [] { labels[name] = LabelText.other }
    }
    for name in names { labels[name] = LabelText.other }
    return LabelSet(labels, seed: seed)
  }
}

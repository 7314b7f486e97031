public import Synchronization

/// A family's series: finds them without a lock, makes them under one, and gives them sorted to a scrape.
///
/// **Removal.** A reader without a lock may be anywhere in a table when a series is removed, so no series of the table
/// can be freed while there may be readers. The first removal therefore ends lock-free reading for good. The tables of
/// that time stay unchanged until the store ends; the limit on label sets bounds them. A copy takes their place, which
/// is read under the lock and frees its memory. Families without removals, most of them, pay nothing for this.
@usableFromInline
final class SeriesStore: MetricFamily {
  @usableFromInline let schema: LabelSchema
  @usableFromInline let seed = UInt64.random(in: .min ... .max)
  let tally: FamilyTally
  let descriptor: MetricDescriptor
  let pieces: ExpositionPieces
  private let limit: Int

  /// The table that may be read without the lock; nil after the first removal.
  @usableFromInline let published: Atomic<Unmanaged<SeriesTable>?>
  /// Set when the table has all label sets that it will ever have.
  @usableFromInline let isFull = Atomic<Bool>(false)
  @usableFromInline let overflow = AtomicLazyReference<Series>()

  private let state: Mutex<State>
  private let order = Mutex<[Series]>([])

  private struct State {
    var table: SeriesTable
    /// Tables that may still have readers.
    var retired: [SeriesTable] = []
    /// Series that count towards the limit.
    var count = 0
    /// 1 if the series for folded label sets is in the table, beyond the limit; else 0.
    var extra = 0
    var readsNeedLock = false
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
    let table = SeriesTable(capacity: 4)
    published = Atomic(Unmanaged.passUnretained(table))
    state = Mutex(State(table: table))
  }

  /// The number of series on the page.
  var seriesCount: Int? {
    state.withLock { $0.count + $0.extra }
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

  /// The series with this hash, where reading needs the lock. The values are compared after the lock is released: they
  /// may have a caller's own type, whose code must not run under a lock.
  @usableFromInline
  func candidate(_ hash: UInt64) -> Series? {
    state.withLock { $0.table.first(hash) { _ in true } }
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
    findOrMake(values) ?? fold()
  }

  /// Finds or makes a series; nil if there is no room.
  func findOrMake(_ values: [String]) -> Series? {
    let labels = schema.render(values)
    let hash = hash(values)
    let (found, full) = state.withLock { state in (lookup(labels, hash, state), state.count >= limit) }
    if found != nil || full { return found }
    return insert(series(labels), labels, hash)
  }

  /// Takes a series off the page; true if there was one.
  func remove(_ values: [String]) -> Bool {
    let labels = schema.render(values)
    let hash = hash(values)
    return remove { state in lookup(labels, hash, state).map { [($0, hash)] } ?? [] } > 0
  }

  /// Takes the series off the page whose label sets have the texts that are wanted; returns their number.
  func removeAll(_ isWanted: (UnsafeRawBufferPointer) -> Bool) -> Int {
    remove { state in state.table.all.filter { isWanted($0.series.text) } }
  }

  private func remove(_ find: (State) -> [(series: Series, hash: UInt64)]) -> Int {
    let (removed, pending) = state.withLock { state -> ([Series], Int) in
      let found = find(state).filter { $0.series !== overflow.load() }
      guard !found.isEmpty else { return ([], 0) }
      endLockFreeReading(&state)
      for (series, hash) in found {
        state.table.remove(series, hash: hash)
        state.removed.insert(ObjectIdentifier(series))
      }
      state.count -= found.count
      return (found.map(\.series), state.removed.count)
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
  private func series(_ labels: RenderedLabels) -> Series {
    let bounds = descriptor.kind == .histogram ? descriptor.bounds : nil
    return Series(
      labels, bounds: bounds, isNative: descriptor.isNative, created: tally.clock.now(), tally: tally)
  }

  private func hash(_ values: [String]) -> UInt64 {
    var hash = LabelHash(seed: seed)
    for value in values { value.withLabelBytes { hash.combine($0) } }
    return hash.value
  }

  private func lookup(_ labels: RenderedLabels, _ hash: UInt64, _ state: borrowing State) -> Series? {
    labels.text.withUnsafeBytes { text in
      state.table.first(hash) { compareText($0.text, text) == 0 }
    }
  }

  /// Adds a series unless it exists. Nil if there is no room; the extra series needs none.
  private func insert(_ candidate: Series, _ labels: RenderedLabels, _ hash: UInt64, isExtra: Bool = false) -> Series? {
    state.withLock { state in
      if let found = lookup(labels, hash, state) { return found }
      guard isExtra || state.count < limit else { return nil }
      makeRoom(&state)
      state.table.insert(candidate, hash: hash)
      if isExtra { state.extra = 1 } else { state.count += 1 }
      state.added.append(candidate)
      return candidate
    }
  }

  private func makeRoom(_ state: inout State) {
    let capacity = state.table.mask + 1
    guard (state.count + state.extra + 1) * 4 > capacity * 3 else { return }
    let table = state.table.copy(capacity: capacity * 2)
    if !state.readsNeedLock {
      state.retired.append(state.table)
      published.store(Unmanaged.passUnretained(table), ordering: .releasing)
    }
    state.table = table
  }

  private func endLockFreeReading(_ state: inout State) {
    guard !state.readsNeedLock else { return }
    published.store(nil, ordering: .releasing)
    state.readsNeedLock = true
    state.retired.append(state.table)
    state.table = state.table.copy(capacity: state.table.mask + 1)
  }

  /// The series for label sets beyond the limit. Its labels are all `_other`. For gauges no page shows it, as a sum of
  /// unrelated gauges means nothing.
  private func fold() -> Series {
    let series = overflow.load() ?? overflow.storeIfNil(makeOverflow())
    state.withLock { state in
      if !state.readsNeedLock, state.count >= limit { isFull.store(true, ordering: .releasing) }
    }
    noteFolded()
    return series
  }

  private func makeOverflow() -> Series {
    let values = schema.names.map { _ in LabelText.other }
    let labels = schema.render(values)
    let candidate = series(labels)
    guard descriptor.kind != .gauge else { return candidate }
    return insert(candidate, labels, hash(values), isExtra: true) ?? candidate
  }
}

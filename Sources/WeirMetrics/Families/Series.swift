public import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// One label set of a metric with its numbers; ``Counter``, ``Gauge`` and ``Histogram`` are handles of it.
///
/// It lives as long as a handle or its family does.
public final class Series: Sendable {
  /// A counter's whole part, a gauge's bit pattern, the bit pattern of a histogram's sum.
  @usableFromInline let first = Atomic<UInt64>(0)
  /// The bit pattern of a counter's fractional part.
  let second = Atomic<UInt64>(0)
  /// A histogram's buckets. Before them are the time of creation and the histogram's bounds, behind them the labels'
  /// text.
  @usableFromInline let slab: AtomicSlab
  /// A histogram's bounds, if an observation is counted by a look at all of them and nothing else; more than
  /// ``Histogram/fewBounds`` if there are more, or native buckets too. So these cost the others nothing.
  @usableFromInline let comparedBounds: Int32
  /// A histogram's native buckets; nil for most.
  let native: NativeBuckets?
  /// The labels, if they were given as text.
  let labelSet: LabelSet?
  let tally: FamilyTally
  let exemplars = LazyReference<ExemplarStore>()

  /// - Parameters:
  ///   - bounds: Nil for a series without buckets.
  ///   - isNative: Whether it has native buckets too.
  ///   - set: The labels, if they were given as text.
  init(
    _ labels: RenderedLabels, set: LabelSet? = nil, bounds: [Double]?, isNative: Bool = false, created: Double,
    tally: FamilyTally
  ) {
    // Infinities follow the last bound, as the search for a bucket reads four bounds at a time.
    let constants = [created] + (bounds.map { $0 + [.infinity, .infinity, .infinity] } ?? [])
    slab = AtomicSlab(
      words: bounds.map { $0.count + 1 } ?? 0, constants: constants, text: labels.text, isEscaped: labels.isEscaped)
    comparedBounds = isNative ? .max : Int32(clamping: bounds?.count ?? 0)
    labelSet = set
    native = isNative ? NativeBuckets() : nil
    self.tally = tally
  }

  /// The labels as the page shows them, without braces: `method="GET",code="200"`.
  public var labels: String {
    String(decoding: text, as: UTF8.self)
  }

  /// The labels' values by name, as they were before they were escaped for the page.
  package var labelValues: [String: String] {
    var values: [String: String] = [:]
    forEachLabel { values[String(decoding: $0, as: UTF8.self)] = String(decoding: $1, as: UTF8.self) }
    return values
  }

  /// Passes each label's name and its value, which is no longer escaped, to `body`, in their order.
  package func forEachLabel(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) {
    LabelSchema.forEachPair(in: text, body)
  }

  /// The labels' bytes, valid as long as the series.
  var text: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: slab.text, count: Int(slab.textCount))
  }

  /// When the series was made, in seconds since 1970.
  package var created: Double {
    slab.constant(0)
  }

  @usableFromInline
  func refuse() {
    tally.countInvalidUpdate()
  }
}

/// A kind of handle: ``Counter``, ``Gauge`` or ``Histogram``. Not meant for other types.
public protocol Instrument: Sendable {
  /// Makes a handle of a series.
  init(_ series: Series)
  /// The series that the handle updates.
  var series: Series { get }
}

/// The clock that a family's series share, and the counts of what the family refused.
final class FamilyTally: Sendable {
  /// Updates ignored because their value has no meaning for the instrument.
  let invalidUpdates = Atomic<UInt64>(0)
  /// Lookups beyond the limit on label sets.
  let folded = Atomic<UInt64>(0)

  let clock: WallClock

  init(clock: WallClock) {
    self.clock = clock
  }

  func countInvalidUpdate() {
    invalidUpdates.wrappingAdd(1, ordering: .relaxed)
  }
}

/// Seconds since 1970, for `_created` and exemplars.
struct WallClock: Sendable {
  let now: @Sendable () -> Double

  static let system = WallClock {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec / 1_000_000) / 1_000
  }
}

import Synchronization

/// The counts of a native histogram at one moment (Prometheus, "Native Histograms").
///
/// Its buckets have no list of bounds. Bucket `i` counts what is above 2^((i - 1) / 2^schema), up to and including
/// 2^(i / 2^schema), so that a finer schema has more and narrower ones. Negative observations are counted likewise, by
/// their magnitude.
package struct NativeHistogram: Sendable, Equatable {
  package struct Bucket: Sendable, Equatable {
    package var index: Int
    package var count: UInt64
  }

  /// The magnitude up to which observations count as zero: the least that client_golang has as a default.
  package static let zeroThreshold = 0x1p-128
  /// The finest schema, with eight buckets for each power of two, and the coarsest that Prometheus knows.
  static let finestSchema = 3, coarsestSchema = -4
  /// The buckets, of both signs together, beyond which a coarser schema is taken.
  static let bucketLimit = 160

  package private(set) var schema = finestSchema
  package let zeroCount: UInt64
  /// The buckets that are not empty, by rising index.
  package private(set) var positive: [Bucket]
  package private(set) var negative: [Bucket]

  init(zeroCount: UInt64 = 0, positive: [Bucket] = [], negative: [Bucket] = []) {
    (self.zeroCount, self.positive, self.negative) = (zeroCount, positive, negative)
  }

  /// The number of observations.
  package var count: UInt64 {
    [positive, negative].joined().reduce(zeroCount) { $0 &+ $1.count }
  }

  /// The same counts in no more buckets than there may be.
  func limited() -> Self {
    coarsened { $0.positive.count + $0.negative.count <= Self.bucketLimit }
  }

  /// The same counts with no more buckets between the lowest and the highest of each sign, for a format that lists the
  /// empty ones too.
  package func narrowed() -> Self {
    coarsened { histogram in
      [histogram.positive, histogram.negative].allSatisfy { buckets in
        guard let first = buckets.first, let last = buckets.last else { return true }
        return last.index - first.index < Self.bucketLimit
      }
    }
  }

  private func coarsened(until fits: (Self) -> Bool) -> Self {
    var histogram = self
    while histogram.schema > Self.coarsestSchema, !fits(histogram) {
      histogram.schema -= 1
      histogram.positive = Self.halved(histogram.positive)
      histogram.negative = Self.halved(histogram.negative)
    }
    return histogram
  }

  /// Each two neighbours, of which the upper one has an even index, are one bucket.
  private static func halved(_ buckets: [Bucket]) -> [Bucket] {
    var halved: [Bucket] = []
    for bucket in buckets {
      let index = (bucket.index + 1) >> 1
      if halved.last?.index == index {
        halved[halved.count - 1].count &+= bucket.count
      } else {
        halved.append(Bucket(index: index, count: bucket.count))
      }
    }
    return halved
  }
}

/// Counts observations in the buckets of the finest schema, from any thread and without a lock. A coarser schema is the
/// reader's matter: since no count shrinks, later readers find as many buckets or more.
///
/// The buckets are in pages, which are made for the first observation in them. A page has the buckets that are one in
/// the coarsest schema: those of 16 powers of two. Most histograms need two or three pages, of 1 KiB each.
final class NativeBuckets: Sendable {
  private static let pageSize = 128
  /// Magnitudes are above 2^-128 and below 2^1024.
  private static let pages = 72
  private static let lowestIndex = -1_023

  /// The addresses of the pages: those of positive observations, then those of negative ones. Zero stands for a page
  /// that is not made. The last word counts zeros.
  private let slab = AtomicSlab(words: 2 * pages + 1)

  deinit {
    for page in 0..<2 * Self.pages {
      guard let words = Self.words(at: slab.loadAcquiring(page)) else { continue }
      Self.free(words)
    }
  }

  /// Counts a number that is finite.
  ///
  /// A thread that sees the count also sees all that this thread stored before.
  func count(_ value: Double) {
    guard value.magnitude > NativeHistogram.zeroThreshold else { return slab.incrementReleasing(2 * Self.pages) }
    let place = Self.index(of: value.magnitude) &- Self.lowestIndex
    let page = place / Self.pageSize &+ (value < 0 ? Self.pages : 0)
    let words = Self.words(at: slab.loadAcquiring(page)) ?? makeWords(of: page)
    words[place % Self.pageSize].wrappingAdd(1, ordering: .releasing)
  }

  /// The counts so far, in no more buckets than there may be.
  var snapshot: NativeHistogram {
    NativeHistogram(
      zeroCount: slab.loadAcquiring(2 * Self.pages), positive: buckets(in: 0..<Self.pages),
      negative: buckets(in: Self.pages..<2 * Self.pages)
    ).limited()
  }

  private func buckets(in pages: Range<Int>) -> [NativeHistogram.Bucket] {
    var buckets: [NativeHistogram.Bucket] = []
    for page in pages {
      guard let words = Self.words(at: slab.loadAcquiring(page)) else { continue }
      let first = Self.lowestIndex + (page - pages.lowerBound) * Self.pageSize
      for word in 0..<Self.pageSize {
        let count = words[word].load(ordering: .acquiring)
        if count > 0 { buckets.append(.init(index: first + word, count: count)) }
      }
    }
    return buckets
  }

  // MARK: Indices

  /// Where the buckets within a power of two begin, as fractions from a half on: the numbers that Prometheus has too.
  private static var fractions: (SIMD4<Double>, SIMD4<Double>) {
    (
      SIMD4(0.5, 0.5452538663326288, 0.5946035575013605, 0.6484197773255048),
      SIMD4(0.7071067811865475, 0.7711054127039704, 0.8408964152537144, 0.9170040432046711)
    )
  }

  /// The index of a magnitude's bucket in the finest schema.
  static func index(of magnitude: Double) -> Int {
    let bits = magnitude.bitPattern
    let fraction = SIMD4(repeating: Double(bitPattern: bits & 0x000f_ffff_ffff_ffff | 0x3fe0_0000_0000_0000))
    // A bound below the fraction counts as -1.
    let (lower, upper) = (fractions.0 .< fraction, fractions.1 .< fraction)
    let below = unsafeBitCast(lower, to: SIMD4<Int64>.self) &+ unsafeBitCast(upper, to: SIMD4<Int64>.self)
    // In the bits the exponent is 1,023 higher.
    return (Int(truncatingIfNeeded: bits >> 52) &- 1_023) &* 8 &- Int(below.wrappedSum())
  }

  // MARK: Pages

  private typealias Words = UnsafeMutablePointer<Atomic<UInt64>>

  private static func words(at address: UInt64) -> Words? {
    Words(bitPattern: UInt(truncatingIfNeeded: address))
  }

  /// Makes a page, unless another thread is quicker.
  private func makeWords(of page: Int) -> Words {
    let made = Words.allocate(capacity: Self.pageSize)
    for word in 0..<Self.pageSize { (made + word).initialize(to: Atomic(0)) }
    let address = UInt64(UInt(bitPattern: made))
    guard let other = Self.words(at: slab.storeIfZero(page, address)) else { return made }
    Self.free(made)
    return other
  }

  private static func free(_ words: Words) {
    words.deinitialize(count: pageSize)
    words.deallocate()
  }
}

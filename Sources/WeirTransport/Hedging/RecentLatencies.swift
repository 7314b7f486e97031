import Glibc
import WeirIO

/// A histogram of the latencies of the last minute. It has a fixed size, and its quantiles are at most a tenth too
/// high.
///
/// The minute is divided into slices of ten seconds, and old slices are dropped as a whole. A quantile therefore covers
/// between 60 and 70 s.
struct RecentLatencies: Sendable {
  static let window = 60.0
  static let minimumCount = 100
  private static let sliceLength: Int64 = 10
  private static let sliceCount = 7
  /// The upper bound of each bucket is a tenth above that of the one before, from 100 µs to over 10 minutes.
  private static let smallest = 0.0001
  private static let growth = 1.1
  private static let bucketCount = 168

  private struct Slice {
    var index: Int64 = .min
    var total = 0
    var counts = [UInt32](repeating: 0, count: RecentLatencies.bucketCount)
  }

  private var slices = [Slice](repeating: Slice(), count: RecentLatencies.sliceCount)

  mutating func note(_ seconds: Double, at now: MonotonicTime) {
    let index = Self.slice(at: now)
    let place = Int(index % Int64(Self.sliceCount))
    if slices[place].index != index {
      slices[place].index = index
      slices[place].total = 0
      for bucket in slices[place].counts.indices { slices[place].counts[bucket] = 0 }
    }
    slices[place].total += 1
    slices[place].counts[Self.bucket(of: seconds)] &+= 1
  }

  /// The latency that this share of the last minute's latencies did not exceed; nil when there are fewer than
  /// `minimumCount`.
  ///
  /// - Parameter share: 0.5 to 0.999. Other values are clamped to that range, and NaN counts as 0.5.
  func quantile(_ share: Double, at now: MonotonicTime) -> Double? {
    let oldest = Self.slice(at: now) - Int64(Self.sliceCount) + 1
    let recent = slices.filter { $0.index >= oldest }
    let total = recent.reduce(0) { $0 + $1.total }
    guard total >= Self.minimumCount else { return nil }
    let share = share.clamped(to: 0.5...0.999)
    let rank = Int((share * Double(total)).rounded(.up))
    var seen = 0
    for bucket in 0..<Self.bucketCount {
      for slice in recent { seen += Int(slice.counts[bucket]) }
      if seen >= rank { return Self.bound(of: bucket) }
    }
    return Self.bound(of: Self.bucketCount - 1)
  }

  private static func slice(at now: MonotonicTime) -> Int64 { Int64(now.nanoseconds / 1_000_000_000) / sliceLength }

  private static func bucket(of seconds: Double) -> Int {
    guard seconds > smallest else { return 0 }
    return Int(min(Double(bucketCount - 1), (log(seconds / smallest) / log(growth)).rounded(.up)))
  }

  private static func bound(of bucket: Int) -> Double { smallest * pow(growth, Double(bucket)) }
}

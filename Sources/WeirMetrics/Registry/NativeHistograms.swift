/// The histograms of a ``Registry`` that are native ones beside their classic buckets.
///
/// A native histogram (Prometheus, "Native Histograms") finds its buckets by itself: eight for each power of two, and
/// fewer, down to one for 16 powers, once more than 160 are in use. Negative observations are counted too, and those of
/// a magnitude up to 2^-128 as zero. A label set is one series of Prometheus, not one for each bucket. Here it takes
/// some 4 KiB.
///
/// Pages in protobuf show them, beside the classic buckets (``Exposition/Format/protobuf``); all others have the
/// classic ones alone.
public enum NativeHistograms: Sendable, Equatable {
  /// No histogram. The default.
  case none
  /// All histograms.
  case all
  /// Those with these names. Other names mean nothing.
  case named(Set<String>)

  /// Whether the histogram of this name is one of them.
  public func contains(_ name: String) -> Bool {
    switch self {
    case .none: false
    case .all: true
    case .named(let names): names.contains(name)
    }
  }
}

/// A histogram's upper bounds: finite and increasing. `+Inf` is always included and need not be listed.
///
/// A list that breaks a rule is refused when the histogram is registered
/// (``RegistryError/invalidBuckets(metric:problem:)``).
public struct Buckets: Sendable, Equatable, ExpressibleByArrayLiteral {
  /// The maximum number of bounds: each one is a series.
  public static let limit = 512

  /// Bounds for the requests of a service, in seconds: 5 ms to 10 s.
  public static let `default`: Buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

  /// The bounds as given.
  public let bounds: [Double]

  /// The upper bounds, in the histogram's unit.
  public init(_ bounds: [Double]) {
    self.bounds = bounds
  }

  public init(arrayLiteral bounds: Double...) {
    self.bounds = bounds
  }

  /// `count` bounds: `start`, `start + width`, …
  public static func linear(start: Double, width: Double, count: Int) -> Buckets {
    Buckets(indices(count).map { start + width * Double($0) })
  }

  /// `count` bounds: `start`, `start * factor`, …
  public static func exponential(start: Double, factor: Double, count: Int) -> Buckets {
    var bound = start
    return Buckets(
      indices(count).map { _ in
        defer { bound *= factor }
        return bound
      })
  }

  /// One index more than the limit is enough for the list to be refused.
  private static func indices(_ count: Int) -> Range<Int> {
    0..<min(max(count, 0), limit + 1)
  }

  /// The bounds without a final `+Inf`, or the rule that they break.
  package func checked() -> Result<[Double], Problem> {
    var bounds = bounds
    if bounds.last == .infinity { bounds.removeLast() }
    guard !bounds.isEmpty else { return .failure(.empty) }
    guard bounds.count <= Self.limit else { return .failure(.tooMany) }
    guard bounds.allSatisfy(\.isFinite) else { return .failure(.notFinite) }
    for (lower, upper) in zip(bounds, bounds.dropFirst()) where !(lower < upper) {
      return .failure(lower == upper ? .duplicate : .unsorted)
    }
    return .success(bounds)
  }

  /// The rules that a list of bounds can break.
  public enum Problem: String, Error, Sendable {
    /// There is no bound besides `+Inf`.
    case empty
    /// There are more bounds than ``Buckets/limit``.
    case tooMany
    /// A bound is NaN or `-Inf`, or `+Inf` comes before the end.
    case notFinite
    /// A bound is smaller than the one before it.
    case unsorted
    /// Two bounds are equal.
    case duplicate
  }
}

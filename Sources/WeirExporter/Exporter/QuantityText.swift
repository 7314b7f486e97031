/// Quantities for people: two or three digits and a unit.
enum QuantityText {
  static func duration(_ seconds: Double) -> String {
    switch seconds {
    case ..<0.001: "\(whole(seconds * 1e6)) µs"
    case ..<1: "\(digits(seconds * 1e3)) ms"
    case ..<120: "\(digits(seconds)) s"
    case ..<7200: "\(whole(seconds / 60)) min"
    case ..<172_800: "\(whole(seconds / 3600)) h"
    default: "\(whole(seconds / 86_400)) days"
    }
  }

  static func bytes(_ count: Int) -> String {
    switch Double(count) {
    case ..<1000: "\(count) B"
    case ..<999_500: "\(digits(Double(count) / 1e3)) kB"
    default: "\(digits(Double(count) / 1e6)) MB"
    }
  }

  /// The number with one decimal below ten, and with none above.
  private static func digits(_ value: Double) -> String {
    guard value < 9.95 else { return whole(value) }
    let tenths = Int((value * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }

  /// A number too large for an integer is shown as ∞.
  private static func whole(_ value: Double) -> String {
    Int(exactly: max(0, value).rounded()).map(String.init) ?? "∞"
  }
}

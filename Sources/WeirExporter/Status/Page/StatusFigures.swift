/// Numbers of a report as text for people: two or three digits and a unit, and a dash for those that are unknown.
enum StatusFigures {
  private static let unknown = "–"

  static func rate(_ window: StatusReport.Window) -> String {
    number(window.seconds > 0 ? Double(window.requests) / window.seconds : nil)
  }

  /// The failed requests' part of all.
  static func failed(_ window: StatusReport.Window) -> String { percent(perRequest(window.failed, window)) }

  static func attempts(_ window: StatusReport.Window) -> String { number(perRequest(window.attempts, window)) }

  private static func perRequest(_ count: Int, _ window: StatusReport.Window) -> Double? {
    window.requests > 0 ? Double(count) / Double(window.requests) : nil
  }

  static func number(_ value: Double?) -> String {
    guard let value, value.isFinite else { return unknown }
    switch abs(value) {
    case 0: return "0"
    case ..<0.005: return "< 0.01"
    case ..<9.995: return QuantityText.decimals(value, 2)
    case ..<99.95: return QuantityText.decimals(value, 1)
    case ..<9999.5: return QuantityText.decimals(value, 0)
    case ..<999_500: return QuantityText.decimals(value / 1e3, 1) + " k"
    case ..<1e12: return QuantityText.decimals(value / 1e6, 1) + " M"
    default: return unknown
    }
  }

  static func percent(_ share: Double?) -> String {
    guard let share, share.isFinite, abs(share) < 1e9 else { return unknown }
    switch share * 100 {
    case 0: return "0 %"
    case ..<0.05: return "< 0.1 %"
    case ..<9.95: return QuantityText.decimals(share * 100, 1) + " %"
    case 99.5..<100: return "> 99 %"
    default: return QuantityText.decimals(share * 100, 0) + " %"
    }
  }

  static func seconds(_ seconds: Double?) -> String {
    guard let seconds, seconds.isFinite, seconds >= 0 else { return unknown }
    return seconds == 0 ? "0" : QuantityText.duration(seconds)
  }
}

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

  /// The number with so many decimals, at most two, without zeros at their end.
  static func decimals(_ value: Double, _ count: Int) -> String {
    let factor = count == 0 ? 1 : count == 1 ? 10 : 100
    let rounded = Int((abs(value) * Double(factor)).rounded())
    let sign = value < 0 ? "−" : ""
    guard rounded % factor != 0 else { return "\(sign)\(rounded / factor)" }
    var fraction = String(rounded % factor + factor).dropFirst()
    while fraction.last == "0" { fraction.removeLast() }
    return "\(sign)\(rounded / factor).\(fraction)"
  }

  /// The number with one decimal below ten, and with none above.
  private static func digits(_ value: Double) -> String { value < 9.95 ? decimals(value, 1) : whole(value) }

  /// A number too large for an integer is shown as ∞.
  private static func whole(_ value: Double) -> String {
    Int(exactly: max(0, value).rounded()).map(String.init) ?? "∞"
  }
}

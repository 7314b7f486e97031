/// Numbers of a report as text for people: two or three digits and a unit, and a dash for those that are unknown.
enum StatusFigures {
  static let unknown = "–"

  static func rate(_ window: StatusReport.Window) -> String {
    guard window.seconds > 0 else { return unknown }
    return number(Double(window.requests) / window.seconds)
  }

  /// The failed requests' part of all.
  static func failed(_ window: StatusReport.Window) -> String {
    guard window.requests > 0 else { return unknown }
    return percent(Double(window.failed) / Double(window.requests))
  }

  static func attempts(_ window: StatusReport.Window) -> String {
    guard window.requests > 0 else { return unknown }
    return number(Double(window.attempts) / Double(window.requests))
  }

  static func number(_ value: Double?) -> String {
    guard let value, value.isFinite else { return unknown }
    switch abs(value) {
    case 0: return "0"
    case ..<0.005: return "< 0.01"
    case ..<9.995: return decimals(value, 2)
    case ..<99.95: return decimals(value, 1)
    case ..<9999.5: return decimals(value, 0)
    case ..<999_500: return decimals(value / 1e3, 1) + " k"
    case ..<1e12: return decimals(value / 1e6, 1) + " M"
    default: return unknown
    }
  }

  static func percent(_ share: Double?) -> String {
    guard let share, share.isFinite, abs(share) < 1e9 else { return unknown }
    switch share * 100 {
    case 0: return "0 %"
    case ..<0.05: return "< 0.1 %"
    case ..<9.95: return decimals(share * 100, 1) + " %"
    case 99.5..<100: return "> 99 %"
    default: return decimals(share * 100, 0) + " %"
    }
  }

  static func seconds(_ seconds: Double?) -> String {
    guard let seconds, seconds.isFinite, seconds >= 0 else { return unknown }
    return seconds == 0 ? "0" : QuantityText.duration(seconds)
  }

  /// With so many decimals, without zeros at their end.
  private static func decimals(_ value: Double, _ count: Int) -> String {
    let factor = count == 0 ? 1 : count == 1 ? 10 : 100
    let whole = Int((abs(value) * Double(factor)).rounded())
    let sign = value < 0 ? "−" : ""
    guard whole % factor != 0 else { return "\(sign)\(whole / factor)" }
    let fraction = String(whole % factor + factor).dropFirst()
    return "\(sign)\(whole / factor).\(fraction)".trimmingZeros
  }
}

extension String {
  fileprivate var trimmingZeros: String {
    var text = self
    while text.hasSuffix("0") { text.removeLast() }
    return text
  }
}

import Foundation
import WeirHTTP

/// The `Retry-After` field (RFC 9110 section 10.2.3).
package enum RetryAfter {
  /// The longest wait that a server can ask for, in seconds.
  package static let maximum: TimeInterval = 60

  /// The wait that a value asks for, between 0 and ``maximum`` seconds; nil when it is neither seconds nor a date.
  package static func delay(_ value: String, now: Date) -> TimeInterval? {
    let text = String(FieldSyntax.trimmed(Substring(value)))
    if !text.isEmpty, text.utf8.allSatisfy(\.isDigit) {
      // More digits than an integer holds are still a number of seconds: a long one.
      return min(Double(text) ?? maximum, maximum)
    }
    let now = now.timeIntervalSince1970
    guard let time = HTTPDate.parse(text, now: Int(now)) else { return nil }
    return min(max(0, Double(time) - now), maximum)
  }
}

import WeirHTTP

/// The field by which a request says how often it was tried before, to who receives it.
///
/// Layers that all retry multiply: three that try three times make 27 attempts of one request. Who knows that somebody in
/// front retries can leave it at that.
public struct AttemptHeader: Sendable, Hashable {
  /// The field's name.
  public let name: String

  /// `X-Retry-Attempt: n` on the n-th retry; a first attempt has no such field.
  public static let standard = AttemptHeader(name: "X-Retry-Attempt")

  /// More retries than these are as many.
  package static let maximum = 999

  /// How many retries a field tells of, up to ``maximum``: its value is a number in decimal digits. Of a list, as which
  /// several fields may arrive (RFC 9110 section 5.3), the largest counts; what is no such number says nothing.
  package static func count(_ value: UnsafeRawBufferPointer) -> Int {
    value.listElements.reduce(0) { largest, element in
      max(largest, Int(min(element.decimal ?? 0, Int64(maximum))))
    }
  }

  /// Puts the number of all retries in place of what the fields say: those before and so many of our own.
  package func announce(_ own: Int, after before: Int, in fields: inout [String: String]) {
    for key in fields.keys where FieldSyntax.isSameName(key, name) { fields[key] = nil }
    fields[name] = String(min(before + own, Self.maximum))
  }
}

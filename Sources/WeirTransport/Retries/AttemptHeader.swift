import WeirHTTP

/// The field that tells the receiver of a request how often the request was retried before.
///
/// Layers that all retry multiply: three layers with three tries each make 27 attempts of one request. A server that
/// knows that a layer in front of it retries can leave the retries to that layer.
public struct AttemptHeader: Sendable, Hashable {
  /// The field's name.
  public let name: String

  /// `X-Retry-Attempt: n` on the n-th retry; a first attempt has no such field.
  public static let standard = AttemptHeader(name: "X-Retry-Attempt")

  /// A larger number of retries counts as this one.
  package static let maximum = 999

  /// The number of retries that a field states in decimal digits, up to ``maximum``. Several fields may arrive as a
  /// list (RFC 9110 section 5.3), of which the largest number counts. Anything but a number counts as 0.
  package static func count(_ value: UnsafeRawBufferPointer) -> Int {
    value.listElements.reduce(0) { largest, element in
      max(largest, Int(min(element.decimal ?? 0, Int64(maximum))))
    }
  }

  /// Replaces the fields with the number of all retries: those before and our own.
  package func announce(_ own: Int, after before: Int, in fields: inout [String: String]) {
    for key in fields.keys where FieldSyntax.isSameName(key, name) { fields[key] = nil }
    fields[name] = String(min(before + own, Self.maximum))
  }
}

package import WeirHTTP

extension PaceSettings {
  /// The seconds for which a final response asks that no request comes, at most ``longestPause``; nil if it does not, or in no
  /// way that is obeyed. Of several wishes the longest counts.
  ///
  /// - Parameters:
  ///   - date: The present in seconds since 1970.
  ///   - other: A way that does not count here.
  package func pause(askedBy head: ResponseHead, at date: Double, without other: PaceSignal? = nil) -> Double? {
    var longest = 0.0
    if other != .retryAfter, obey.contains(.retryAfter), head.status == 429 || head.status == 503 {
      longest = RetryAfter.longestDelay(head.values(ofField: "Retry-After"), now: date) ?? 0
    }
    if other != .rateLimit, obey.contains(.rateLimit) { longest = max(longest, RateLimitFields(head).pause(at: date)) }
    return longest > 0 ? min(longest, Self.longestPause) : nil
  }
}

/// The limits that a response tells of. A malformed field says nothing.
private struct RateLimitFields {
  /// A pair of fields, as servers had them before `RateLimit`.
  struct Older {
    var isSpent = false
    /// Seconds until there is more, or since 1970; the greatest of several fields.
    var reset = 0.0

    /// Numbers of more than a year are dates.
    private static let year = 365.0 * 86_400

    func pause(at date: Double) -> Double {
      if !isSpent { return 0 }
      return reset > Self.year ? max(0, reset - date) : reset
    }
  }

  /// The longest time of an item of `RateLimit` with nothing left, in seconds.
  private var longest = 0.0
  /// `RateLimit-Remaining` and `RateLimit-Reset`.
  private var older = Older()
  /// `X-RateLimit-Remaining` and `X-RateLimit-Reset`.
  private var oldest = Older()

  init(_ head: ResponseHead) {
    head.forEach { name, value in
      if name.spells("ratelimit") {
        longest = max(longest, Self.longestTime(value) ?? 0)
      } else if name.spells("ratelimit-remaining") {
        older.isSpent = older.isSpent || value.decimal == 0
      } else if name.spells("ratelimit-reset") {
        older.reset = max(older.reset, Self.seconds(value) ?? 0)
      } else if name.spells("x-ratelimit-remaining") {
        oldest.isSpent = oldest.isSpent || value.decimal == 0
      } else if name.spells("x-ratelimit-reset") {
        oldest.reset = max(oldest.reset, Self.seconds(value) ?? 0)
      }
    }
  }

  /// Seconds.
  func pause(at date: Double) -> Double { max(longest, older.pause(at: date), oldest.pause(at: date)) }

  /// The longest time of the items with nothing left, of a list of structured items (RFC 9651 sections 3.1 and 3.3); nil if
  /// it is malformed.
  private static func longestTime(_ value: UnsafeRawBufferPointer) -> Double? {
    var longest = 0.0
    for element in value.quotedListElements {
      guard let item = Item(element) else { return nil }
      if item.left == 0 { longest = max(longest, item.time ?? 0) }
    }
    return longest
  }

  /// The rest of one limit, and the seconds until there is more (parameters `r` and `t`).
  private struct Item {
    private(set) var left: Int64?
    private(set) var time: Double?

    /// Nil if it is malformed.
    init?(_ octets: UnsafeRawBufferPointer) {
      var parts = octets.parameterParts
      guard let name = parts.next(), FieldSyntax.isToken(name) || name.unquoted != nil else { return nil }
      for parameter in parts {
        let end = parameter.firstIndex(of: .equalsSign, in: 0..<parameter.count) ?? parameter.count
        let (key, value) = (
          parameter.octets(0..<end), parameter.octets(min(end + 1, parameter.count)..<parameter.count)
        )
        guard Self.isKey(key), end == parameter.count || Self.isValue(value) else { return nil }
        // The last of equal keys counts.
        if key.spells("r") {
          guard let number = value.decimal else { return nil }
          left = number
        } else if key.spells("t") {
          guard let seconds = RateLimitFields.seconds(value) else { return nil }
          time = seconds
        }
      }
    }

    private static func isKey(_ octets: UnsafeRawBufferPointer) -> Bool {
      FieldSyntax.isToken(octets) && octets.allSatisfy { $0 == $0.lowercased }
    }

    /// A quoted string, or another item, which has no blanks and quotation marks.
    private static func isValue(_ octets: UnsafeRawBufferPointer) -> Bool {
      if octets.first == .quotationMark { return octets.unquoted != nil }
      return !octets.isEmpty && octets.allSatisfy { $0 > .space && $0 < 0x7f && $0 != .quotationMark }
    }
  }

  private static func seconds(_ value: UnsafeRawBufferPointer) -> Double? {
    RetryAfter.seconds(FieldSyntax.text(value))
  }
}

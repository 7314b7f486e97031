package import WeirIO

/// An access token, and for how long it is good. It prints nothing of the token.
public struct OAuth2Token: AgeingCredential, Sendable {
  /// In place of a first token: the first request fetches one.
  public static let absent = OAuth2Token(
    accessToken: "", expires: MonotonicTime(nanoseconds: 0), refreshFrom: MonotonicTime(nanoseconds: 0))

  /// The token as it is sent.
  public let accessToken: String
  /// When it is of no use any more.
  package let expires: MonotonicTime
  /// From when on the next use fetches the next one.
  package let refreshFrom: MonotonicTime
  /// The granted scopes; nil if the token service did not say.
  package private(set) var scope: String?

  public var requiresRefresh: Bool { MonotonicTime.now >= expires }

  public var isAgeing: Bool { MonotonicTime.now >= refreshFrom }
}

extension OAuth2Token {
  /// - Parameters:
  ///   - scope: The granted scopes, as the token service says it.
  ///   - sent: When the token was asked for. Its lifetime, in seconds, counts from then.
  ///   - refreshBefore: Seconds before the expiry; nil: a share of the lifetime.
  ///   - random: 0 to 1: ±10 % of them.
  init(
    _ accessToken: String, lifetime: Double, scope: String? = nil, sent: MonotonicTime, refreshBefore: Double?,
    random: Double
  ) {
    let usual = min(max(lifetime / 10, 5), lifetime / 3, 300)
    let before = min(refreshBefore ?? usual, lifetime / 2) * (0.9 + 0.2 * random)
    self.init(
      accessToken: accessToken, expires: sent.advanced(bySeconds: lifetime),
      refreshFrom: sent.advanced(bySeconds: lifetime - before), scope: scope)
  }
}

extension OAuth2Token: CustomStringConvertible, CustomReflectable {
  /// A remark in place of the token.
  public var description: String { "(access token)" }

  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why there is no token.
public struct OAuth2Error: Error, Sendable, Hashable, LocalizedError {
  /// A word for the reason, from a closed list.
  public let reason: AdaptationFailure
  /// The reason in a sentence, without secrets.
  public let text: String
  /// Seconds that the token service asks to wait for; nil if it does not.
  public let retryAfter: TimeInterval?

  package init(reason: AdaptationFailure, text: String, retryAfter: TimeInterval?) {
    self.reason = reason
    self.text = text
    self.retryAfter = retryAfter
  }

  public var errorDescription: String? { text }
}

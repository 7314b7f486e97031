/// Why load control refused an attempt (``OverloadSettings``), of which nothing was sent.
@nonexhaustive
public enum ShedReason: String, Sendable, Hashable, CaseIterable {
  /// So many requests wait already that this one would have waited longer than it may.
  case overload
  /// The request has waited as long as it may.
  case waited
  /// The destination has ceased to answer.
  case silent
}

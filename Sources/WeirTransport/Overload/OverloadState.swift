/// The state of a destination's load control (``OverloadSettings``).
public enum OverloadState: String, Sendable, Hashable, CaseIterable {
  /// The destination answers before its callers leave, or a limit sees to it that it does.
  case normal
  /// The destination gets more requests than it can answer in time; those beyond its limit are refused.
  case overloaded
  /// The destination has ceased to answer; few requests are let through, to see whether it answers again.
  case silent
}

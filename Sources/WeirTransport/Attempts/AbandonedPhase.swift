/// Where a request was when its caller gave up: its user cancelled it, or the client's connection to the gateway ended.
public enum AbandonedPhase: String, Sendable, Hashable, CaseIterable {
  /// It waited, for a slot of its destination or for its next attempt.
  case queue
  /// It was sent, and the head of its response had not come.
  case upstream
  /// The body of its response was on its way.
  case body
}

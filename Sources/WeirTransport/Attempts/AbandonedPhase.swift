/// Where a request was when its caller gave up: its user cancelled it, or the client's connection to the gateway ended.
public enum AbandonedPhase: String, Sendable, Hashable, CaseIterable {
  /// It waited for a slot of its destination, or for its next attempt.
  case queue
  /// It was sent, and the head of its response had not come.
  case upstream
  /// The head of its response had come: the body was on its way, or the caller's own code was at work on the response.
  case body
}

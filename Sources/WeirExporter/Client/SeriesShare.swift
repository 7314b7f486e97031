/// What one destination, or one route, may have of a family: the first so many label sets as they are. Further ones are told
/// more coarsely (``CoarseLabel``), so that who makes up statuses takes no room from the others.
package struct SeriesShare<Labels: Hashable & Sendable>: Sendable {
  private var own: Set<Labels> = []

  package init() {}

  /// Whether the label set is one of the first `limit`.
  package mutating func admits(_ labels: Labels, limit: Int) -> Bool {
    if own.contains(labels) { return true }
    guard own.count < limit else { return false }
    own.insert(labels)
    return true
  }
}

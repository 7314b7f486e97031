/// The share of a family that one destination, or one route, may use. Its first label sets are shown as they are.
/// Further ones get coarser labels (``CoarseLabel``), so that a server which makes up statuses takes no room from other
/// destinations.
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

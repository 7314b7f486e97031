import WeirIO

/// The elements that a configuration names, and the times at which earlier elements left it. A value.
struct Departures<Element: Hashable> {
  private var current: Set<Element> = []
  private var gone: [Element: MonotonicTime] = [:]

  /// Seconds for which the series of an element that has left stay on the page, so that its last requests are seen.
  static var patience: Double { 600 }
  /// The most elements that stay so.
  static var most: Int { 50 }

  mutating func follow(_ elements: Set<Element>, at now: MonotonicTime) {
    for element in current.subtracting(elements) { gone[element] = now }
    for element in elements { gone[element] = nil }
    current = elements
  }

  /// The element has series on the page. If it is not in the configuration, as with a request that began before a
  /// reload, its time starts now.
  mutating func seen(_ element: Element, at now: MonotonicTime) {
    if !current.contains(element) { gone[element] = now }
  }

  /// Returns, and forgets, the elements that left long enough ago, or before the last fifty.
  mutating func expired(at now: MonotonicTime) -> [Element] {
    let recent = gone.filter { now.seconds(since: $0.value) < Self.patience }
    let kept = Set(recent.sorted { $0.value > $1.value }.prefix(Self.most).map(\.key))
    let expired = gone.keys.filter { !kept.contains($0) }
    for element in expired { gone[element] = nil }
    return expired
  }
}

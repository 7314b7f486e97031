import WeirIO

/// What a configuration names, and since when what it named before is gone. A value.
struct Departures<Element: Hashable> {
  private var current: Set<Element> = []
  private var gone: [Element: MonotonicTime] = [:]

  /// Seconds for which the series of what is gone stay on the page, so that its last requests are seen.
  static var patience: Double { 600 }

  mutating func follow(_ elements: Set<Element>, at now: MonotonicTime) {
    for element in current.subtracting(elements) { gone[element] = now }
    for element in elements { gone[element] = nil }
    current = elements
  }

  /// The element has something on the page. If it is gone already, as that of a request which began before, it is
  /// from now.
  mutating func seen(_ element: Element, at now: MonotonicTime) {
    if !current.contains(element) { gone[element] = now }
  }

  /// What has been gone for long enough; it is forgotten.
  mutating func expired(at now: MonotonicTime) -> [Element] {
    let expired = gone.filter { now.seconds(since: $0.value) >= Self.patience }.map(\.key)
    for element in expired { gone[element] = nil }
    return expired
  }
}

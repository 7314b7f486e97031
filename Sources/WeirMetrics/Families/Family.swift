/// One metric with labels: its series are found by the values of the labels, in the order of registration.
///
/// ```swift
/// let requests = try registry.counter("http_requests_total", help: "Requests.", labels: "route", "code")
/// requests.with("/users", "200").increment()
/// ```
///
/// `with` finds the series or makes it at zero. It takes no lock and allocates nothing once the series exists. Keeping
/// the returned handle is cheaper still. A series never expires by itself.
///
/// A family holds at most as many label sets as its registry allows (2,000 by default). Beyond that limit, counters and
/// histograms count into one series whose labels are all `_other`, and gauges into none.
/// `weir_metrics_series_folded_total` counts these lookups.
public struct Family<Handle: Instrument, Labels>: Sendable {
  @usableFromInline let store: SeriesStore

  init(_ store: SeriesStore) {
    self.store = store
  }
}

/// A counter with labels, for example `CounterFamily<(String, String)>`.
public typealias CounterFamily<Labels> = Family<Counter, Labels>
/// A gauge with labels.
public typealias GaugeFamily<Labels> = Family<Gauge, Labels>
/// A histogram with labels.
public typealias HistogramFamily<Labels> = Family<Histogram, Labels>

/// A label's name and the type of its values, given when a family is registered.
///
/// A string literal is a label of strings; `Label("code", as: Int.self)` is one of numbers.
public struct Label<Value: LabelValue>: Sendable {
  /// `[a-zA-Z_][a-zA-Z0-9_]*`, not `le` and not beginning with `__`; checked when the family is registered.
  public let name: String
  /// Whether series leave it out where its value is empty. Only the last one of several labels may be so.
  let isOmittedIfEmpty: Bool

  /// A label whose values are of another type than `String`.
  public init(_ name: String, as type: Value.Type) {
    self.name = name
    isOmittedIfEmpty = false
  }

  package init(omittedIfEmpty name: String) {
    self.name = name
    isOmittedIfEmpty = true
  }
}

extension Label: ExpressibleByStringLiteral, ExpressibleByExtendedGraphemeClusterLiteral,
  ExpressibleByUnicodeScalarLiteral
where Value == String {
  public init(stringLiteral name: String) {
    self.init(name, as: String.self)
  }
}

// One method per number of labels: with a parameter pack, each value would be copied, retained and released, which
// costs more than the search itself. Up to three labels, the method is inlined, whatever its size. The caller then need
// not retain the series to use it once, which saves a fifth of the time.

extension Family {
  /// The series with this label value, made at zero if need be.
  @inlinable @inline(__always)
  public func with(_ value: Labels) -> Handle where Labels: LabelValue {
    let hash = LabelHash(seed: store.seed).with(value)
    let found = store.find(hash) { text in
      text.accepts(value, after: store.schema.skip(0))
    }
    return Handle(found ?? store.resolve([LabelText.canonical(value)]))
  }

  /// The series with these label values, made at zero if need be.
  @inlinable @inline(__always)
  public func with<A: LabelValue, B: LabelValue>(
    _ a: A, _ b: B
  ) -> Handle where Labels == (A, B) {
    let hash = LabelHash(seed: store.seed).with(a).with(b)
    let found = store.find(hash) { text in
      text.accepts(a, after: store.schema.skip(0)) && text.accepts(b, after: store.schema.skip(1))
    }
    return Handle(found ?? store.resolve(LabelText.canonical(a, b)))
  }

  /// The series with these label values, made at zero if need be.
  @inlinable @inline(__always)
  public func with<A: LabelValue, B: LabelValue, C: LabelValue>(
    _ a: A, _ b: B, _ c: C
  ) -> Handle where Labels == (A, B, C) {
    let hash = LabelHash(seed: store.seed).with(a).with(b).with(c)
    let found = store.find(hash) { text in
      text.accepts(a, after: store.schema.skip(0)) && text.accepts(b, after: store.schema.skip(1))
        && text.accepts(c, after: store.schema.skip(2))
    }
    return Handle(found ?? store.resolve(LabelText.canonical(a, b, c)))
  }

  /// The series with these label values, made at zero if need be.
  @inlinable
  public func with<A: LabelValue, B: LabelValue, C: LabelValue, D: LabelValue>(
    _ a: A, _ b: B, _ c: C, _ d: D
  ) -> Handle where Labels == (A, B, C, D) {
    let hash = LabelHash(seed: store.seed).with(a).with(b).with(c).with(d)
    let found = store.find(hash) { text in
      text.accepts(a, after: store.schema.skip(0)) && text.accepts(b, after: store.schema.skip(1))
        && text.accepts(c, after: store.schema.skip(2)) && text.accepts(d, after: store.schema.skip(3))
    }
    return Handle(found ?? store.resolve(LabelText.canonical(a, b, c, d)))
  }

  /// The series with these label values, made at zero if need be.
  @inlinable
  public func with<A: LabelValue, B: LabelValue, C: LabelValue, D: LabelValue, E: LabelValue>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> Handle where Labels == (A, B, C, D, E) {
    let hash = LabelHash(seed: store.seed).with(a).with(b).with(c).with(d).with(e)
    let found = store.find(hash) { text in
      text.accepts(a, after: store.schema.skip(0)) && text.accepts(b, after: store.schema.skip(1))
        && text.accepts(c, after: store.schema.skip(2)) && text.accepts(d, after: store.schema.skip(3))
        && text.accepts(e, after: store.schema.skip(4))
    }
    return Handle(found ?? store.resolve(LabelText.canonical(a, b, c, d, e)))
  }

  /// The series with these label values, made at zero if need be.
  @inlinable
  public func with<A: LabelValue, B: LabelValue, C: LabelValue, D: LabelValue, E: LabelValue, F: LabelValue>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) -> Handle where Labels == (A, B, C, D, E, F) {
    let hash = LabelHash(seed: store.seed).with(a).with(b).with(c).with(d).with(e).with(f)
    let found = store.find(hash) { text in
      text.accepts(a, after: store.schema.skip(0)) && text.accepts(b, after: store.schema.skip(1))
        && text.accepts(c, after: store.schema.skip(2)) && text.accepts(d, after: store.schema.skip(3))
        && text.accepts(e, after: store.schema.skip(4)) && text.accepts(f, after: store.schema.skip(5))
    }
    return Handle(found ?? store.resolve(LabelText.canonical(a, b, c, d, e, f)))
  }

  /// The series with these label values, made at zero if need be. For more than six labels: allocates at each call.
  public func with<each Value: LabelValue>(_ value: repeat each Value) -> Handle where Labels == (repeat each Value) {
    Handle(store.resolve(LabelText.canonical(repeat each value)))
  }

  /// Takes the series with these label values off the page and frees its place; true if there was one.
  ///
  /// A handle that is still held keeps working, but its counts no longer appear on a page. The next `with` makes a new
  /// series, at zero. From the first removal on, lookups in this family take a short lock.
  @discardableResult
  public func remove<each Value: LabelValue>(_ value: repeat each Value) -> Bool where Labels == (repeat each Value) {
    store.remove(LabelText.canonical(repeat each value))
  }

  /// Takes all series with these values, by label name, off the page; returns their number.
  ///
  /// For label values that are no longer in use: `requests.removeAll(where: ["tenant": "acme"])`. It looks at each
  /// series of the family. As after `remove`, handles keep working unseen, and lookups take a short lock from then on.
  @discardableResult
  public func removeAll(where values: [String: String]) -> Int {
    // A name that is not a label of the family selects nothing.
    let pairs = values.map { LabelSchema.pair($0, $1) }
    return pairs.isEmpty ? 0 : store.removeAll { text in pairs.allSatisfy { text.firstPair($0) != nil } }
  }

  /// Counts a lookup of a label set that the caller has replaced by a shared one.
  package func noteFolded() { store.noteFolded() }

  /// Takes all chosen series off the page, in one look at each; returns their number.
  @discardableResult
  package func removeAll(_ choice: LabelChoice) -> Int {
    choice.isEmpty ? 0 : store.removeAll { choice.includes($0) }
  }
}

extension LabelText {
  @usableFromInline
  static func canonical<each Value: LabelValue>(_ value: repeat each Value) -> [String] {
    var texts: [String] = []
    for value in repeat each value { texts.append(canonical(value)) }
    return texts
  }
}

/// Selects the label sets of a family in which neighbouring labels have one of many values, in one look at each.
package struct LabelChoice: Sendable {
  /// `name="`, of the first of the labels.
  private let begin: [UInt8]
  private let count: Int
  /// Each `name="value",name="value"`, as in a label set's text.
  private let texts: Set<[UInt8]>

  /// - Parameters:
  ///   - names: Labels that follow each other in the family; at least one.
  ///   - values: A value for each of the labels.
  package init(_ names: [String], _ values: [[String]]) {
    begin = Array("\(names[0])=\"".utf8)
    count = names.count
    texts = Set(
      values.map { values in
        Array(zip(names, values).map { LabelSchema.pair($0, $1) }.joined(separator: [UInt8(ascii: ",")]))
      })
  }

  var isEmpty: Bool { texts.isEmpty }

  /// Whether the label set of this text has one of the values.
  func includes(_ text: UnsafeRawBufferPointer) -> Bool {
    guard let start = text.firstPair(begin) else { return false }
    var end = start
    // Each label has two quotes. Quotes inside a value are escaped, and so are the backslashes before them.
    for _ in 0..<2 * count {
      while end < text.count, text[end] != UInt8(ascii: "\"") { end += text[end] == UInt8(ascii: "\\") ? 2 : 1 }
      end += 1
    }
    return end <= text.count && texts.contains(Array(text[start..<end]))
  }
}

extension UnsafeRawBufferPointer {
  /// The index of a pair, or of the beginning of one, in the text of a label set. A pair is at the beginning of the text or
  /// follows a comma. It can't be inside a value, whose quotes are escaped.
  func firstPair(_ pair: [UInt8]) -> Int? {
    guard count >= pair.count else { return nil }
    return (0...(count - pair.count)).first { start in
      (start == 0 || self[start - 1] == UInt8(ascii: ","))
        && UnsafeRawBufferPointer(rebasing: self[start..<(start + pair.count)]).elementsEqual(pair)
    }
  }
}

// One method per number of labels: with a parameter pack, each value would be copied, retained and released, which
// costs more than the search itself. Up to three labels, the method is inlined, whatever its size. The caller then need
// not retain the series to use it once, which saves a fifth of the time.

extension Family {
  /// The series with this label value, made at zero if need be.
  @inlinable @inline(__always)
  public func with(_ value: Labels) -> Handle where Labels: LabelValue {
    var hash = LabelHash(seed: store.seed)
    value.withLabelBytes { hash.combine($0) }
    let found = store.find(hash) { text in
      value.withLabelBytes { text.accepts($0, after: store.schema.skip(0)) }
    }
    return Handle(found ?? store.resolve([LabelText.canonical(value)]))
  }

  /// The series with these label values, made at zero if need be.
  @inlinable @inline(__always)
  public func with<A: LabelValue, B: LabelValue>(
    _ a: A, _ b: B
  ) -> Handle where Labels == (A, B) {
    var hash = LabelHash(seed: store.seed)
    a.withLabelBytes { hash.combine($0) }
    b.withLabelBytes { hash.combine($0) }
    let found = store.find(hash) { text in
      a.withLabelBytes { text.accepts($0, after: store.schema.skip(0)) }
        && b.withLabelBytes { text.accepts($0, after: store.schema.skip(1)) }
    }
    return Handle(found ?? store.resolve(LabelText.canonical(a, b)))
  }

  /// The series with these label values, made at zero if need be.
  @inlinable @inline(__always)
  public func with<A: LabelValue, B: LabelValue, C: LabelValue>(
    _ a: A, _ b: B, _ c: C
  ) -> Handle where Labels == (A, B, C) {
    var hash = LabelHash(seed: store.seed)
    a.withLabelBytes { hash.combine($0) }
    b.withLabelBytes { hash.combine($0) }
    c.withLabelBytes { hash.combine($0) }
    let found = store.find(hash) { text in
      a.withLabelBytes { text.accepts($0, after: store.schema.skip(0)) }
        && b.withLabelBytes { text.accepts($0, after: store.schema.skip(1)) }
        && c.withLabelBytes { text.accepts($0, after: store.schema.skip(2)) }
    }
    return Handle(found ?? store.resolve(LabelText.canonical(a, b, c)))
  }

  /// The series with these label values, made at zero if need be.
  @inlinable
  public func with<A: LabelValue, B: LabelValue, C: LabelValue, D: LabelValue>(
    _ a: A, _ b: B, _ c: C, _ d: D
  ) -> Handle where Labels == (A, B, C, D) {
    var hash = LabelHash(seed: store.seed)
    a.withLabelBytes { hash.combine($0) }
    b.withLabelBytes { hash.combine($0) }
    c.withLabelBytes { hash.combine($0) }
    d.withLabelBytes { hash.combine($0) }
    let found = store.find(hash) { text in
      a.withLabelBytes { text.accepts($0, after: store.schema.skip(0)) }
        && b.withLabelBytes { text.accepts($0, after: store.schema.skip(1)) }
        && c.withLabelBytes { text.accepts($0, after: store.schema.skip(2)) }
        && d.withLabelBytes { text.accepts($0, after: store.schema.skip(3)) }
    }
    return Handle(found ?? store.resolve(LabelText.canonical(a, b, c, d)))
  }

  /// The series with these label values, made at zero if need be.
  @inlinable
  public func with<A: LabelValue, B: LabelValue, C: LabelValue, D: LabelValue, E: LabelValue>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> Handle where Labels == (A, B, C, D, E) {
    var hash = LabelHash(seed: store.seed)
    a.withLabelBytes { hash.combine($0) }
    b.withLabelBytes { hash.combine($0) }
    c.withLabelBytes { hash.combine($0) }
    d.withLabelBytes { hash.combine($0) }
    e.withLabelBytes { hash.combine($0) }
    let found = store.find(hash) { text in
      a.withLabelBytes { text.accepts($0, after: store.schema.skip(0)) }
        && b.withLabelBytes { text.accepts($0, after: store.schema.skip(1)) }
        && c.withLabelBytes { text.accepts($0, after: store.schema.skip(2)) }
        && d.withLabelBytes { text.accepts($0, after: store.schema.skip(3)) }
        && e.withLabelBytes { text.accepts($0, after: store.schema.skip(4)) }
    }
    return Handle(found ?? store.resolve(LabelText.canonical(a, b, c, d, e)))
  }

  /// The series with these label values, made at zero if need be.
  @inlinable
  public func with<A: LabelValue, B: LabelValue, C: LabelValue, D: LabelValue, E: LabelValue, F: LabelValue>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) -> Handle where Labels == (A, B, C, D, E, F) {
    var hash = LabelHash(seed: store.seed)
    a.withLabelBytes { hash.combine($0) }
    b.withLabelBytes { hash.combine($0) }
    c.withLabelBytes { hash.combine($0) }
    d.withLabelBytes { hash.combine($0) }
    e.withLabelBytes { hash.combine($0) }
    f.withLabelBytes { hash.combine($0) }
    let found = store.find(hash) { text in
      a.withLabelBytes { text.accepts($0, after: store.schema.skip(0)) }
        && b.withLabelBytes { text.accepts($0, after: store.schema.skip(1)) }
        && c.withLabelBytes { text.accepts($0, after: store.schema.skip(2)) }
        && d.withLabelBytes { text.accepts($0, after: store.schema.skip(3)) }
        && e.withLabelBytes { text.accepts($0, after: store.schema.skip(4)) }
        && f.withLabelBytes { text.accepts($0, after: store.schema.skip(5)) }
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
    store.removeAll(where: values)
  }

  /// Takes all chosen series off the page, in one look at each; returns their number.
  @discardableResult
  package func removeAll(_ choice: LabelChoice) -> Int {
    store.removeAll(choice)
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

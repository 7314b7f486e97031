import WeirHTTP

/// A form of values: how one is read, and what documents and the schema say of it.
struct ConfigurationForm<Value>: Sendable {
  let shape: ConfigurationShape
  /// The value as the file would have it; nil if it can't be written.
  let text: @Sendable (Value) -> String?
  /// Nil for a value that does not fit, of which a problem tells.
  let read: @Sendable (ConfigurationReader) -> Value?

  init(
    _ shape: ConfigurationShape, text: @escaping @Sendable (Value) -> String? = { _ in nil },
    read: @escaping @Sendable (ConfigurationReader) -> Value?
  ) {
    self.shape = shape
    self.text = text
    self.read = read
  }

  /// The same form, by a name that tells more.
  func called(_ name: String) -> Self { Self(.named(name, shape), text: text, read: read) }

  /// - Parameter back: The former value; without it no value can be written.
  func map<New>(
    back: @escaping @Sendable (New) -> Value? = { _ in nil }, _ new: @escaping @Sendable (Value) -> New?
  ) -> ConfigurationForm<New> {
    ConfigurationForm<New>(shape, text: { [text] in back($0).flatMap(text) }, read: { [read] in read($0).flatMap(new) })
  }

  /// The form, or the word `off`, which reads as nil.
  static func off<Other>(or form: ConfigurationForm<Other>) -> Self where Value == Other? {
    Self(
      .either([form.shape, .off]), text: { $0.map(form.text) ?? "off" },
      read: { $0.isOff ? .some(nil) : form.read($0).map(Optional.some) })
  }

  /// The same form, with a problem of its own for scalars that are easily written in place of a value.
  func refusing(_ problem: @escaping @Sendable (YAMLScalar.Value) -> String?) -> Self {
    Self(shape, text: text) { [read] reader in
      guard case .scalar(let scalar) = reader.node.content, let text = problem(scalar.value) else {
        return read(reader)
      }
      reader.report(text)
      return nil
    }
  }

  /// A value that problems don't show.
  var hidden: Self { Self(shape, text: { _ in nil }, read: { [read] in read($0.hidingValues) }) }

  /// The same, with keys that may be secrets in a wrong place.
  var secret: Self { Self(shape, text: { _ in nil }, read: { [read] in read($0.hidingAll) }) }
}

extension ConfigurationForm<Bool> {
  static var boolean: Self { Self(.boolean, text: { "\($0)" }, read: { $0.read(as: .boolean) }) }
}

extension ConfigurationForm<Int> {
  static func integer(_ range: ClosedRange<Int>) -> Self {
    Self(.integer(range), text: { "\($0)" }, read: { $0.count(within: range) })
  }
}

extension ConfigurationForm<Int64> {
  /// A number of bytes of a body.
  static var bytes: Self { ConfigurationForm<Int>.integer(1...1 << 40).map(back: { Int($0) }) { Int64($0) } }
}

extension ConfigurationForm<Double> {
  static func number(_ range: ClosedRange<Double>) -> Self {
    Self(.number(range), text: { ConfigurationDuration.text($0) }, read: { $0.number(within: range) })
  }

  /// A duration, in seconds.
  static func seconds(_ range: ClosedRange<Double>) -> Self {
    Self(
      .duration(range), text: { ConfigurationDuration.text(seconds: $0) }, read: { $0.seconds(within: range) })
  }
}

extension ConfigurationForm<Double?> {
  /// A duration in seconds, or the word `off`, which reads as nil.
  static func secondsOrOff(_ range: ClosedRange<Double>) -> Self {
    let form = ConfigurationForm<Double>.seconds(range)
    return off(
      or: ConfigurationForm<Double>(form.shape, text: form.text) { $0.seconds(within: range, orOff: true) })
  }
}

extension ConfigurationForm<String> {
  /// - Parameters:
  ///   - pattern: A regular expression that all valid texts match; nil if none is needed.
  ///   - problem: Returns the reason why a text is not valid, or nil.
  static func text(
    _ pattern: String? = nil, unless problem: @escaping @Sendable (String) -> String? = { _ in nil }
  )
    -> Self
  {
    Self(.text(pattern), text: { $0 }, read: { $0.read(as: .string, unless: problem) })
  }

  /// A name that labels metrics of what is configured once.
  static var plainName: Self { text("^[A-Za-z0-9._-]{1,64}$", unless: problem(plainName:)) }

  static func problem(plainName name: String) -> String? {
    let isName = name.utf8.allSatisfy { $0.isLetterOrDigit || "-_.".utf8.contains($0) }
    return isName && (1...64).contains(name.utf8.count)
      ? nil : "must be 1 to 64 letters, digits, hyphens, underscores and dots"
  }

  /// The absolute path of a file.
  static var file: Self {
    text("^/") { $0.hasPrefix("/") ? nil : "give an absolute path" }.called("file")
  }

  /// The path of a file, which may begin in the folder of the configuration file.
  static var fileFromFolder: Self {
    Self(.named("file", .text(nil))) { reader in
      reader.read(as: .string) { $0.isEmpty ? "is empty; name a file" : nil }
        .map { $0.hasPrefix("/") ? $0 : reader.findings.folder + $0 }
    }
  }
}

extension ConfigurationForm where Value: Equatable & Sendable {
  /// One of a few words, which stand for values.
  static func word(_ values: [(word: String, value: Value)]) -> Self {
    let words = values.map(\.word)
    return Self(
      .words(words), text: { value in values.first { $0.value == value }?.word },
      read: { reader in
        reader.word(among: words).flatMap { word in values.first { $0.word == word }?.value }
      })
  }

  /// One of a few versions. One that reads as a number may be one.
  static func version(
    _ values: [(word: String, value: Value)], unless problem: @escaping @Sendable (Value) -> String? = { _ in nil }
  ) -> Self {
    let words = values.map(\.word)
    let kind = ConfigurationKind<Value>(name: ConfigurationShape.joined(words, by: "or")) { scalar in
      values.first { scalar == .string($0.word) || scalar == YAMLScalar(plain: $0.word).value }?.value
    }
    return Self(
      .words(words), text: { value in values.first { $0.value == value }?.word },
      read: { $0.read(as: kind, unless: problem) })
  }
}

extension ConfigurationForm where Value: RawRepresentable<String> & CaseIterable & Equatable & Sendable {
  /// One of the words of a type.
  static var word: Self { word(Value.allCases.map { ($0.rawValue, $0) }) }
}

extension ConfigurationForm {
  /// A list, in which the order of the elements means nothing.
  static func set<Element: Comparable & Sendable>(of element: ConfigurationForm<Element>, empty: String? = nil) -> Self
  where Value == Set<Element> {
    let list = ConfigurationForm<[Element]>.list(of: element, (empty == nil ? 0 : 1)...Int.max, empty: empty)
    return list.map(back: { $0.sorted() }) { Set($0) }
  }

  /// - Parameters:
  ///   - counts: The number of elements.
  ///   - nouns: The word for several elements in problems.
  ///   - empty: The problem of an empty list, if it has words of its own.
  static func list<Element>(
    of element: ConfigurationForm<Element>, _ counts: ClosedRange<Int> = 0...Int.max, _ nouns: String = "elements",
    empty: String? = nil
  ) -> Self where Value == [Element] {
    Self(
      .list(of: element.shape, counts),
      text: { values in
        let texts = values.compactMap(element.text)
        return texts.count == values.count ? "[\(texts.joined(separator: ", "))]" : nil
      },
      read: { reader in
        guard let list = reader.elements(counts, nouns, empty: empty) else { return nil }
        var values: [Element] = []
        values.reserveCapacity(list.count)
        for value in list { if let value = element.read(value) { values.append(value) } }
        return values
      })
  }

  /// A list of different words of a type, whose order means nothing.
  ///
  /// - Parameter empty: The problem of an empty list; nil if a list may be empty.
  static func words<Word: RawRepresentable<String> & CaseIterable & Hashable & Sendable>(
    _ nouns: String, empty: String? = nil
  ) -> Self where Value == Set<Word> {
    let list = ConfigurationForm<[Word]>.list(
      of: .word, (empty == nil ? 0 : 1)...Word.allCases.count, nouns, empty: empty, unlike: { $0 }
    ) { "\(quoted($0.rawValue)) is already in this list (line \($1))" }
    return Self(
      list.shape,
      text: { words in "[\(Word.allCases.filter(words.contains).map(\.rawValue).joined(separator: ", "))]" },
      read: { list.read($0).map { Set($0) } })
  }

  /// A list whose elements differ in a part of theirs.
  ///
  /// - Parameter problem: The problem of an element with the part of an earlier one, in whose line it is.
  static func list<Element, Part: Hashable & Sendable>(
    of element: ConfigurationForm<Element>, _ counts: ClosedRange<Int>, _ nouns: String, empty: String? = nil,
    unlike part: @escaping @Sendable (Element) -> Part, _ problem: @escaping @Sendable (Part, _ line: Int) -> String
  ) -> Self where Value == [Element] {
    Self(.list(of: element.shape, counts)) { reader in
      var lines: [Part: Int] = [:]
      return reader.elements(counts, nouns, empty: empty)?.compactMap { reader in
        guard let value = element.read(reader) else { return nil }
        let line = lines.updateValue(reader.node.position.line, forKey: part(value))
        if let line { reader.report(problem(part(value), line)) }
        return value
      }
    }
  }
}

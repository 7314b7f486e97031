extension URLEncodedFormEncoder.KeyEncoding {
  func encode(_ key: String) -> String {
    switch self {
    case .useDefaultKeys: key
    case .convertToSnakeCase: KeyCase.words(of: key).joined(separator: "_").lowercased()
    case .convertToKebabCase: KeyCase.words(of: key).joined(separator: "-").lowercased()
    case .capitalized: key.prefix(1).uppercased() + key.dropFirst()
    case .uppercased: key.uppercased()
    case .lowercased: key.lowercased()
    case .custom(let encode): encode(key)
    }
  }
}

/// The words of a camel-case key.
enum KeyCase {
  /// A word begins at an upper-case letter that follows anything else. In a run of several, the last one before a
  /// lower-case letter begins the next word: `myURLProperty` is `my`, `URL`, `Property`.
  ///
  /// The search is that of `JSONEncoder`'s strategy, oddities included: the first character never begins a run, so
  /// `URL` is `U`, `RL`; after the last run nothing is divided when no lower-case letter follows.
  static func words(of key: String) -> [String] {
    let letters = Array(key)
    var starts = [0]
    var position = 1
    while let upper = letters.firstIndex(from: position, where: \.isUppercase) {
      starts.append(upper)
      guard let lower = letters.firstIndex(from: upper, where: \.isLowercase) else { break }
      if lower > upper + 1 { starts.append(lower - 1) }
      position = lower + 1
    }
    let ends = starts.dropFirst() + [letters.count]
    return zip(starts, ends).map { String(letters[$0..<$1]) }
  }
}

extension Array {
  fileprivate func firstIndex(from start: Int, where predicate: (Element) -> Bool) -> Int? {
    guard start < count else { return nil }
    return self[start...].firstIndex(where: predicate)
  }
}

extension URLEncodedFormEncoder {
  /// How the key of an array's element is written.
  public typealias ArrayEncoding = URLEncoding.ArrayEncoding

  /// How a boolean is written.
  public typealias BoolEncoding = URLEncoding.BoolEncoding

  /// How `Data` is written.
  public enum DataEncoding: Sendable {
    /// `Data`'s own encoding: an array of bytes.
    case deferredToData
    /// Base64 (RFC 4648 section 4), then escaped like any text: `==` gives `%3D%3D`.
    case base64
    /// The closure's text; an error that it throws ends the encoding.
    @preconcurrency
    case custom(@Sendable (Data) throws -> String)
  }

  /// How a `Date` is written.
  public enum DateEncoding: Sendable {
    /// `Date`'s own encoding: seconds since 2001.
    case deferredToDate
    /// Seconds with a fraction: `978307323.456`.
    case secondsSince1970
    /// Milliseconds with a fraction: `978307323456.0`.
    case millisecondsSince1970
    /// Internet date-time in UTC without fraction (RFC 3339).
    case iso8601
    /// The formatter's text.
    case formatted(DateFormatter)
    /// The closure's text; an error that it throws ends the encoding.
    @preconcurrency
    case custom(@Sendable (Date) throws -> String)
  }

  /// How the assembled key path is written.
  public enum KeyEncoding: Sendable {
    /// As the coding keys spell it.
    case useDefaultKeys
    /// As `JSONEncoder` converts it: `myURLProperty` gives `my_url_property`.
    case convertToSnakeCase
    /// The same with `-`.
    case convertToKebabCase
    /// With the first letter in upper case.
    case capitalized
    /// In upper case.
    case uppercased
    /// In lower case.
    case lowercased
    /// The closure's result.
    @preconcurrency
    case custom(@Sendable (String) -> String)
  }

  /// How a nested key is appended to its parent's.
  public struct KeyPathEncoding: Sendable {
    /// `parent[child]`
    public static let brackets = KeyPathEncoding { "[\($0)]" }
    /// `parent.child`
    public static let dots = KeyPathEncoding { ".\($0)" }

    private let encoding: @Sendable (String) -> String

    /// Takes a closure that returns the text to append for a nested key.
    @preconcurrency
    public init(encoding: @escaping @Sendable (_ subkey: String) -> String) {
      self.encoding = encoding
    }

    func encode(_ subkey: String) -> String { encoding(subkey) }
  }

  /// How nil is written.
  public struct NilEncoding: Sendable {
    /// The key is left out.
    public static let dropKey = NilEncoding { nil }
    /// `key=`
    public static let dropValue = NilEncoding { "" }
    /// `key=null`
    public static let null = NilEncoding { "null" }

    private let encoding: @Sendable () -> String?

    /// Takes a closure that returns the text for nil, or nil to leave the key out.
    @preconcurrency
    public init(encoding: @escaping @Sendable () -> String?) {
      self.encoding = encoding
    }

    func encode() -> String? { encoding() }
  }

  /// How a space is written.
  public enum SpaceEncoding: Sendable, Hashable {
    /// `%20`
    case percentEscaped
    /// `+`; a plus sign itself is `%2B`.
    case plusReplaced
  }
}

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
  /// Divides a key into words. A word begins at an upper-case letter that follows anything else. In a run of several
  /// upper-case letters, the last one before a lower-case letter begins the next word: `myURLProperty` is `my`, `URL`,
  /// `Property`.
  ///
  /// The search is the one of `JSONEncoder`'s strategy, with its oddities. The first character never begins a run, so
  /// `URL` is `U`, `RL`. The last run is not divided if no lower-case letter follows it.
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

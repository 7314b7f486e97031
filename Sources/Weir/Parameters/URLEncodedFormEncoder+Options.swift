public import Foundation

extension URLEncodedFormEncoder {
  /// How the key of an array's element is written.
  public typealias ArrayEncoding = URLEncoding.ArrayEncoding

  /// How a boolean is written.
  public typealias BoolEncoding = URLEncoding.BoolEncoding

  /// How `Data` is written.
  public enum DataEncoding: Sendable {
    /// As `Data` encodes itself: an array of bytes.
    case deferredToData
    case base64
    @preconcurrency
    case custom(@Sendable (Data) throws -> String)
  }

  /// How a `Date` is written.
  public enum DateEncoding: Sendable {
    /// As `Date` encodes itself: seconds since 2001.
    case deferredToDate
    case secondsSince1970
    case millisecondsSince1970
    /// Internet date-time in UTC without fraction (RFC 3339).
    case iso8601
    case formatted(DateFormatter)
    @preconcurrency
    case custom(@Sendable (Date) throws -> String)
  }

  /// How the assembled key path is written.
  public enum KeyEncoding: Sendable {
    case useDefaultKeys
    /// As `JSONEncoder` does it: `myURLProperty` gives `my_url_property`.
    case convertToSnakeCase
    /// The same with `-`.
    case convertToKebabCase
    /// The first letter in upper case.
    case capitalized
    case uppercased
    case lowercased
    @preconcurrency
    case custom(@Sendable (String) -> String)
  }

  /// How a nested key is put behind its parent's.
  public struct KeyPathEncoding: Sendable {
    /// `parent[child]`
    public static let brackets = KeyPathEncoding { "[\($0)]" }
    /// `parent.child`
    public static let dots = KeyPathEncoding { ".\($0)" }

    private let encoding: @Sendable (String) -> String

    /// Takes what makes of a nested key the text to append.
    @preconcurrency
    public init(encoding: @escaping @Sendable (_ subkey: String) -> String) {
      self.encoding = encoding
    }

    func encode(_ subkey: String) -> String { encoding(subkey) }
  }

  /// How nil is written.
  public struct NilEncoding: Sendable {
    /// Not at all.
    public static let dropKey = NilEncoding { nil }
    /// `key=`
    public static let dropValue = NilEncoding { "" }
    /// `key=null`
    public static let null = NilEncoding { "null" }

    private let encoding: @Sendable () -> String?

    /// Takes what gives the text of nil, or nil to leave the key out.
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

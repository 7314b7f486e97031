import Synchronization

/// Encodes `Encodable` values as `application/x-www-form-urlencoded` text.
///
/// The root must be keyed (a struct, a class, a dictionary). Safe to use from several threads.
public final class URLEncodedFormEncoder: Sendable {
  /// Values that can't be encoded.
  @nonexhaustive
  public enum Error: Swift.Error, Hashable {
    /// The root is an array or a single value; the text describes it.
    case invalidRootObject(String)
  }

  /// Whether the pairs of an object are sorted as text, at each level; otherwise they keep the order of encoding, as the
  /// elements of an array always do.
  public let alphabetizeKeyValuePairs: Bool
  /// How the keys of elements are written; default `key[]`.
  public let arrayEncoding: ArrayEncoding
  /// How booleans are written; default `1` and `0`.
  public let boolEncoding: BoolEncoding
  /// How `Data` is written; default base64.
  public let dataEncoding: DataEncoding
  /// How dates are written; default seconds since 2001.
  public let dateEncoding: DateEncoding
  /// How whole key paths are written; default as they are.
  public let keyEncoding: KeyEncoding
  /// How nested keys are put together; default `parent[child]`.
  public let keyPathEncoding: KeyPathEncoding
  /// How nil is written; by default its key is left out.
  public let nilEncoding: NilEncoding
  /// How spaces are written; default `%20`.
  public let spaceEncoding: SpaceEncoding
  private let escaper: Mutex<PercentEscaper>

  /// Takes all options. Only ``allowedCharacters`` can be changed later.
  public init(
    alphabetizeKeyValuePairs: Bool = true, arrayEncoding: ArrayEncoding = .brackets,
    boolEncoding: BoolEncoding = .numeric, dataEncoding: DataEncoding = .base64,
    dateEncoding: DateEncoding = .deferredToDate, keyEncoding: KeyEncoding = .useDefaultKeys,
    keyPathEncoding: KeyPathEncoding = .brackets, nilEncoding: NilEncoding = .dropKey,
    spaceEncoding: SpaceEncoding = .percentEscaped, allowedCharacters: CharacterSet = .weirURLQueryAllowed
  ) {
    self.alphabetizeKeyValuePairs = alphabetizeKeyValuePairs
    self.arrayEncoding = arrayEncoding
    self.boolEncoding = boolEncoding
    self.dataEncoding = dataEncoding
    self.dateEncoding = dateEncoding
    self.keyEncoding = keyEncoding
    self.keyPathEncoding = keyPathEncoding
    self.nilEncoding = nilEncoding
    self.spaceEncoding = spaceEncoding
    escaper = Mutex(PercentEscaper(allowed: allowedCharacters))
  }

  /// The characters that stay unescaped; only ASCII characters count.
  public var allowedCharacters: CharacterSet {
    get { escaper.withLock { $0.allowed } }
    set {
      let changed = PercentEscaper(allowed: newValue)
      escaper.withLock { $0 = changed }
    }
  }

  /// The value as text, empty for an optional that is nil.
  ///
  /// Throws ``Error``, `EncodingError`, and errors of the value or of a custom closure.
  public func encode(_ value: any Encodable) throws -> String {
    if let optional = value as? any OptionalValue, optional.isNil { return "" }
    let root = FormNode()
    try FormNodeEncoder(node: root, codingPath: [], options: self).encode(value)
    switch root.content {
    case .empty, .object: break
    case .array, .text: throw Error.invalidRootObject(root.description)
    }
    return FormSerializer(options: self, escaper: escaper.withLock { $0 }).text(of: root)
  }

  /// The value as UTF-8.
  public func encode(_ value: any Encodable) throws -> Data {
    let text: String = try encode(value)
    return Data(text.utf8)
  }
}

extension URLEncodedFormEncoder.Error: LocalizedError {
  /// The text describes the root that was not keyed.
  public var errorDescription: String? {
    switch self {
    case .invalidRootObject(let text): "A form needs keys at its root, not \(text)"
    }
  }
}

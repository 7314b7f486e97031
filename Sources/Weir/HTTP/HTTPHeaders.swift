import WeirHTTP

/// An ordered list of header fields, whose names are unique case-insensitively.
///
/// Adding a name that exists replaces its value in place and takes the new spelling. Two values are equal if their
/// lists are.
public struct HTTPHeaders: Hashable, Sendable {
  /// Up to this number of fields a linear search is faster than a table.
  private static let searchedCount = 16

  private var fields: [HTTPHeader] = []

  /// Creates an empty list.
  public init() {}

  /// Takes the fields in order; the last of duplicates wins.
  public init(_ headers: [HTTPHeader]) {
    fields.reserveCapacity(headers.count)
    if headers.count <= Self.searchedCount {
      for header in headers { update(header) }
    } else {
      updateAll(headers)
    }
  }

  /// Takes the fields in no particular order.
  public init(_ dictionary: [String: String]) {
    self.init(dictionary.map { HTTPHeader(name: $0.key, value: $0.value) })
  }

  /// The same as ``update(name:value:)``.
  public mutating func add(name: String, value: String) {
    update(HTTPHeader(name: name, value: value))
  }

  /// The same as ``update(_:)``.
  public mutating func add(_ header: HTTPHeader) {
    update(header)
  }

  /// Sets a field: in place if the name exists, else at the end.
  public mutating func update(name: String, value: String) {
    update(HTTPHeader(name: name, value: value))
  }

  /// Sets a field: in place if the name exists, else at the end.
  public mutating func update(_ header: HTTPHeader) {
    if let index = position(of: header.name) {
      fields[index] = header
    } else {
      fields.append(header)
    }
  }

  /// Removes a field; nothing changes if there is none of that name.
  public mutating func remove(name: String) {
    guard let index = position(of: name) else { return }
    fields.remove(at: index)
  }

  /// Sorts by lower-cased name.
  public mutating func sort() {
    fields = fields.map { (key: FieldSyntax.lowercased($0.name), field: $0) }.sorted { $0.key < $1.key }.map(\.field)
  }

  /// The same fields, sorted by lower-cased name.
  public func sorted() -> HTTPHeaders {
    var copy = self
    copy.sort()
    return copy
  }

  /// The value of the field with that name; names are compared case-insensitively.
  public func value(for name: String) -> String? {
    position(of: name).map { fields[$0].value }
  }

  /// Reads, sets or, with nil, removes a field.
  public subscript(_ name: String) -> String? {
    get { value(for: name) }
    set {
      if let newValue {
        update(name: name, value: newValue)
      } else {
        remove(name: name)
      }
    }
  }

  /// The fields as a dictionary, names spelled as set.
  public var dictionary: [String: String] {
    // Names that differ in ASCII case only are unique here, so no key can come twice.
    Dictionary(fields.lazy.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
  }

  /// Fills an empty list in linear time: the server determines how many fields a response has.
  private mutating func updateAll(_ headers: [HTTPHeader]) {
    var positions = [String: Int](minimumCapacity: headers.count)
    for header in headers {
      let key = FieldSyntax.lowercased(header.name)
      if let position = positions[key] {
        fields[position] = header
      } else {
        positions[key] = fields.count
        fields.append(header)
      }
    }
  }

  private func position(of name: String) -> Int? {
    fields.firstIndex { FieldSyntax.isSameName($0.name, name) }
  }
}

extension HTTPHeaders: Collection {
  public var startIndex: Int { fields.startIndex }
  public var endIndex: Int { fields.endIndex }

  public subscript(position: Int) -> HTTPHeader { fields[position] }

  public func index(after position: Int) -> Int { fields.index(after: position) }

  public func makeIterator() -> IndexingIterator<[HTTPHeader]> { fields.makeIterator() }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
  public init(dictionaryLiteral elements: (String, String)...) {
    self.init(elements.map { HTTPHeader(name: $0.0, value: $0.1) })
  }

  public init(arrayLiteral elements: HTTPHeader...) {
    self.init(elements)
  }
}

extension HTTPHeaders: CustomStringConvertible {
  public var description: String {
    fields.map(\.description).joined(separator: "\n")
  }
}

extension HTTPURLResponse {
  /// The header fields, in no meaningful order.
  public var headers: HTTPHeaders {
    HTTPHeaders(
      allHeaderFields.compactMap { name, value in
        guard let name = name as? String, let value = value as? String else { return nil }
        return HTTPHeader(name: name, value: value)
      })
  }
}

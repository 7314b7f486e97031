public struct HTTPField: Sendable, Hashable {
  public struct Name: Sendable, Hashable {
    public let rawName: String
    public init?(_ name: String) {
      guard !name.isEmpty else { return nil }
      rawName = name
    }
    public static func == (left: Name, right: Name) -> Bool { left.rawName.lowercased() == right.rawName.lowercased() }
    public func hash(into hasher: inout Hasher) { hasher.combine(rawName.lowercased()) }
  }

  public var name: Name
  public var value: String
  public init(name: Name, value: String) { (self.name, self.value) = (name, value) }
}

public struct HTTPFields: Sendable, Hashable, RandomAccessCollection, ExpressibleByDictionaryLiteral {
  private var fields: [HTTPField] = []
  public init() {}
  public init(dictionaryLiteral elements: (HTTPField.Name, String)...) {
    fields = elements.map { HTTPField(name: $0, value: $1) }
  }
  public var startIndex: Int { 0 }
  public var endIndex: Int { fields.count }
  public subscript(position: Int) -> HTTPField { fields[position] }
  public subscript(name: HTTPField.Name) -> String? { fields.first { $0.name == name }?.value }
  public mutating func append(_ field: HTTPField) { fields.append(field) }
}

public struct HTTPRequest: Sendable, Hashable {
  public struct Method: Sendable, Hashable {
    public let rawValue: String
    public static var get: Method { Method(rawValue: "GET") }
    public static var head: Method { Method(rawValue: "HEAD") }
    public static var post: Method { Method(rawValue: "POST") }
  }

  public var method: Method
  public var scheme: String?
  public var authority: String?
  public var path: String?
  public var headerFields: HTTPFields

  public init(method: Method, scheme: String?, authority: String?, path: String?, headerFields: HTTPFields = [:]) {
    (self.method, self.scheme, self.authority) = (method, scheme, authority)
    (self.path, self.headerFields) = (path, headerFields)
  }
}

public struct HTTPResponse: Sendable, Hashable {
  public struct Status: Sendable, Hashable {
    public let code: Int
    public init(code: Int, reasonPhrase: String = "") { self.code = code }
  }

  public var status: Status
  public var headerFields: HTTPFields
  public init(status: Status, headerFields: HTTPFields = [:]) {
    (self.status, self.headerFields) = (status, headerFields)
  }
}

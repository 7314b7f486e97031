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

  /// The list with the fields of another one, each in place of its own field of that name.
  func updated(with other: HTTPHeaders) -> HTTPHeaders {
    if isEmpty { return other }
    var headers = self
    for field in other { headers.update(field) }
    return headers
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
    fields.reserveCapacity(elements.count)
    for (name, value) in elements { update(name: name, value: value) }
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

/// One header field: a name and its value.
public struct HTTPHeader: Hashable, Sendable, CustomStringConvertible {
  /// The name as spelled; names are compared case-insensitively (RFC 9110 section 5.1).
  public let name: String
  /// The value as it goes on the wire.
  public let value: String

  /// Takes both as they are. A field that must not be sent is refused with its request (`URLRequest.validate()`).
  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }

  public var description: String { "\(name): \(value)" }
}

extension HTTPHeader {
  /// `Accept` (RFC 9110 section 12.5.1).
  public static func accept(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept", value: value) }

  /// `Accept-Charset` (RFC 9110 section 12.5.2, deprecated there).
  public static func acceptCharset(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept-Charset", value: value) }

  /// `Accept-Language` (RFC 9110 section 12.5.4).
  public static func acceptLanguage(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept-Language", value: value) }

  /// `Accept-Encoding` (RFC 9110 section 12.5.3).
  public static func acceptEncoding(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept-Encoding", value: value) }

  /// `Authorization` with the value as given (RFC 9110 section 11.6.2).
  public static func authorization(_ value: String) -> HTTPHeader { HTTPHeader(name: "Authorization", value: value) }

  /// `Authorization` for the Basic scheme, in UTF-8 (RFC 7617).
  public static func authorization(username: String, password: String) -> HTTPHeader {
    authorization("Basic \(Data("\(username):\(password)".utf8).base64EncodedString())")
  }

  /// `Authorization` with a bearer token (RFC 6750).
  public static func authorization(bearerToken: String) -> HTTPHeader { authorization("Bearer \(bearerToken)") }

  /// `Content-Disposition` (RFC 6266).
  public static func contentDisposition(_ value: String) -> HTTPHeader {
    HTTPHeader(name: "Content-Disposition", value: value)
  }

  /// `Content-Encoding` (RFC 9110 section 8.4).
  public static func contentEncoding(_ value: String) -> HTTPHeader {
    HTTPHeader(name: "Content-Encoding", value: value)
  }

  /// `Content-Type` (RFC 9110 section 8.3).
  public static func contentType(_ value: String) -> HTTPHeader { HTTPHeader(name: "Content-Type", value: value) }

  /// `User-Agent` (RFC 9110 section 10.1.5).
  public static func userAgent(_ value: String) -> HTTPHeader { HTTPHeader(name: "User-Agent", value: value) }

  /// `Sec-WebSocket-Protocol` (RFC 6455 section 11.3.4).
  public static func websocketProtocol(_ value: String) -> HTTPHeader {
    HTTPHeader(name: "Sec-WebSocket-Protocol", value: value)
  }
}

extension HTTPHeaders {
  /// Accept-Encoding, Accept-Language (left out if no language is preferred) and User-Agent.
  ///
  /// Built once per process: languages and versions do not change under a running service.
  public static let `default` = makeDefault(languages: Locale.preferredLanguages)

  static func makeDefault(languages: [String]) -> HTTPHeaders {
    var headers: HTTPHeaders = [.defaultAcceptEncoding]
    if !languages.isEmpty {
      headers.add(.acceptLanguage(HTTPHeader.qualityEncoded(languages)))
    }
    headers.add(.defaultUserAgent)
    return headers
  }
}

extension HTTPHeader {
  /// `gzip, deflate`: exactly the codings that weir decodes.
  public static let defaultAcceptEncoding = acceptEncoding("gzip, deflate")

  /// The first six preferred languages, each with a quality a tenth lower than the one before.
  public static let defaultAcceptLanguage = acceptLanguage(qualityEncoded(Locale.preferredLanguages))

  /// `executable/appVersion (bundleID; build:build; OS major.minor.patch) Weir/version`.
  public static let defaultUserAgent = userAgent(
    userAgentText(
      bundle: Bundle.main.infoDictionary ?? [:], firstArgument: CommandLine.arguments.first,
      version: ProcessInfo.processInfo.operatingSystemVersion))

  static func qualityEncoded(_ languages: [String]) -> String {
    // Tenths are written as text: 1.0 - 0.1 * 3 is not 0.7 in binary.
    languages.prefix(6).enumerated()
      .map { position, language in "\(language);q=\(position == 0 ? "1.0" : "0.\(10 - position)")" }
      .joined(separator: ", ")
  }

  static func userAgentText(
    bundle: [String: Any], firstArgument: String?, version: OperatingSystemVersion
  ) -> String {
    func field(_ key: String) -> String? { bundle[key] as? String }
    let program = firstArgument.flatMap { $0.split(separator: "/").last.map(String.init) }
    let executable = field("CFBundleExecutable") ?? program ?? "Unknown"
    let appVersion = field("CFBundleShortVersionString") ?? "Unknown"
    let bundleID = field("CFBundleIdentifier") ?? "Unknown"
    let build = field("CFBundleVersion") ?? "Unknown"
    let system = "Linux \(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"
    let text = "\(executable)/\(appVersion) (\(bundleID); build:\(build); \(system)) Weir/\(WeirInfo.version)"
    // An executable may be named anything; a line break in a header value would have every request refused.
    return FieldSyntax.isSendable(text) ? text : "Unknown/\(appVersion) Weir/\(WeirInfo.version)"
  }
}

extension UnsafeRawBufferPointer {
  /// The name before the first equals sign, and the value behind it, both without the blanks around them. The value is nil
  /// if there is no equals sign.
  var nameAndValue: (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    guard let sign = firstIndex(of: .equalsSign) else { return (trimmed, nil) }
    return (octets(0..<sign).trimmed, octets(sign + 1..<count).trimmed)
  }
}

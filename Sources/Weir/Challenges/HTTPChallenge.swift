import WeirHTTP

/// A challenge of a 401 or 407 response (RFC 9110 section 11.3).
struct HTTPChallenge {
  enum Scheme: Sendable {
    case basic
    case digest
  }

  let scheme: Scheme
  /// By names in lower case. Of a name that comes twice, the first value holds.
  private var parameters: [String: String] = [:]
  /// Whether all parameters are UTF-8, so that an answer can repeat them as they came.
  private(set) var isUTF8 = true

  /// Nil if the challenge names no realm. Basic requires one, but many servers leave it out (RFC 7617 section 2).
  var realm: String? { self["realm"] }

  subscript(name: String) -> String? { parameters[name] }

  /// The first challenge by Digest that can be answered for a request with or without a body, or else by Basic; nil if
  /// there is none.
  init?(_ head: ResponseHead, hasBody: Bool) {
    let field: StaticString = head.status == 407 ? "proxy-authenticate" : "www-authenticate"
    var all: [HTTPChallenge] = []
    head.forEach { name, value in
      if name.spells(field) { all += Self.challenges(value) }
    }
    let best = all.first { $0.scheme == .digest && DigestAnswer($0, hasBody: hasBody) != nil }
    guard let best = best ?? all.first(where: { $0.scheme == .basic }) else { return nil }
    self = best
  }

  private init(_ scheme: Scheme) {
    self.scheme = scheme
  }

  /// RFC 9110 section 11.6.1: a list of challenges, each a scheme and a list of parameters, all divided by commas. An
  /// element begins a challenge if it is a token alone, or a token followed by a blank.
  private static func challenges(_ value: UnsafeRawBufferPointer) -> [HTTPChallenge] {
    var all: [HTTPChallenge] = []
    var present: HTTPChallenge?
    for element in value.quotedListElements {
      var parameter = element
      if let (scheme, rest) = beginning(element) {
        if let present { all.append(present) }
        present = self.scheme(scheme).map(HTTPChallenge.init)
        parameter = rest
      }
      if let (name, value) = Self.parameter(parameter) { present?.add(name, value) }
    }
    if let present { all.append(present) }
    return all
  }

  private mutating func add(_ name: String, _ value: [UInt8]) {
    guard parameters[name] == nil else { return }
    if String(validating: value, as: UTF8.self) == nil { isUTF8 = false }
    parameters[name] = value.withUnsafeBytes { FieldSyntax.text($0) }
  }

  private static func scheme(_ name: UnsafeRawBufferPointer) -> Scheme? {
    if name.spells("basic") { return .basic }
    return name.spells("digest") ? .digest : nil
  }

  /// The scheme and the rest of the element; nil if the element is a parameter.
  private static func beginning(
    _ element: UnsafeRawBufferPointer
  ) -> (scheme: UnsafeRawBufferPointer, rest: UnsafeRawBufferPointer)? {
    let name = element.prefix { !$0.isBlank && $0 != .equalsSign }
    let rest = element[name.endIndex...].drop { $0.isBlank }
    // A parameter may have blanks around its equals sign, as in `realm = "x"`.
    guard !name.isEmpty, rest.first != .equalsSign else { return nil }
    return (UnsafeRawBufferPointer(rebasing: name), UnsafeRawBufferPointer(rebasing: rest))
  }

  private static func parameter(_ element: UnsafeRawBufferPointer) -> (name: String, value: [UInt8])? {
    let (name, value) = element.nameAndValue
    guard let value else { return nil }
    return (FieldSyntax.lowercased(name), value.unquoted ?? Array(value))
  }
}

extension HTTPChallenge {
  /// The value of the field (Authorization, or Proxy-Authorization) that answers the challenge; nil if it can't be answered
  /// rightly.
  ///
  /// - Parameter target: The request target, as it is sent.
  func answer(user: String, password: String, method: String, target: String, hasBody: Bool) -> String? {
    switch scheme {
    case .basic: HTTPHeader.authorization(username: user, password: password).value
    case .digest:
      DigestAnswer(self, hasBody: hasBody)?.field(
        user: user, password: password, method: method, target: target,
        ownNonce: (0..<16).map { _ in UInt8.random(in: 0 ... .max) }.hexadecimal)
    }
  }
}

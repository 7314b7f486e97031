import WeirHTTP

/// The challenge of a 401 or 407 response.
struct HTTPChallenge: Equatable {
  enum Scheme: Sendable {
    case basic
    case digest
  }

  let scheme: Scheme
  /// Nil if the challenge names no realm. Basic requires one, but many servers leave it out (RFC 7617 section 2).
  var realm: String?

  /// The strongest of the challenges that libcurl can answer; nil if there is none.
  init?(_ head: ResponseHead) {
    let field: StaticString = head.status == 407 ? "proxy-authenticate" : "www-authenticate"
    var all: [HTTPChallenge] = []
    head.forEach { name, value in
      if name.spells(field) { all += Self.challenges(value) }
    }
    guard let best = all.first(where: { $0.scheme == .digest }) ?? all.first else { return nil }
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
      if present?.realm == nil, let realm = realm(parameter) { present?.realm = realm }
    }
    if let present { all.append(present) }
    return all
  }

  private static func scheme(_ name: UnsafeRawBufferPointer) -> Scheme? {
    if name.spells("basic") { return .basic }
    return name.spells("digest") ? .digest : nil
  }

  /// The scheme and the rest of the element; nil if the element is a parameter.
  private static func beginning(
    _ element: UnsafeRawBufferPointer
  ) -> (scheme: UnsafeRawBufferPointer, rest: UnsafeRawBufferPointer)? {
    let name = element.prefix { !$0.isBlank && $0 != UInt8(ascii: "=") }
    let rest = element[name.endIndex...].drop { $0.isBlank }
    // A parameter may have blanks around its equals sign, as in `realm = "x"`.
    guard !name.isEmpty, rest.first != UInt8(ascii: "=") else { return nil }
    return (UnsafeRawBufferPointer(rebasing: name), UnsafeRawBufferPointer(rebasing: rest))
  }

  private static func realm(_ parameter: UnsafeRawBufferPointer) -> String? {
    guard let mark = parameter.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    let name = parameter.octets(parameter.trimmed(0..<mark))
    guard name.spells("realm") else { return nil }
    let value = parameter.octets(parameter.trimmed((mark + 1)..<parameter.count))
    return value.unquoted.map { $0.withUnsafeBytes { FieldSyntax.text($0) } } ?? FieldSyntax.text(value)
  }
}

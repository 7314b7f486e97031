package import WeirIO

/// A question to the name servers. Equal questions have equal answers.
package struct Question: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// The addresses of a name.
    case addresses
    /// The services of a name: its SRV records (RFC 2782) and the addresses of their targets.
    case services
  }

  /// The versions of IP that are asked for.
  package enum Family: Hashable, Sendable {
    case any, ipv4, ipv6
  }

  package let kind: Kind
  /// The name in lower case. With a dot at its end no search list is applied to it.
  package let name: String
  package let family: Family

  private init(_ kind: Kind, _ name: String, _ family: Family) {
    self.kind = kind
    self.name = String(decoding: name.utf8.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }, as: UTF8.self)
    self.family = family
  }

  package static func addresses(of name: String, family: Family = .any) -> Question {
    Question(.addresses, name, family)
  }

  /// - Parameter name: Service, protocol and domain, such as `_https._tcp.pay.internal`. The search list is not applied.
  /// - Parameter family: The addresses of the targets that are asked for.
  package static func services(of name: String, family: Family = .any) -> Question {
    Question(.services, name, family)
  }
}

extension Question.Family {
  package init(of address: IPAddress) {
    switch address {
    case .v4: self = .ipv4
    case .v6: self = .ipv6
    }
  }

  /// The versions of IP, each by itself.
  var versions: [Question.Family] {
    switch self {
    case .any: [.ipv4, .ipv6]
    case .ipv4, .ipv6: [self]
    }
  }
}

extension Question: CustomStringConvertible {
  package var description: String {
    switch kind {
    case .addresses: name
    case .services: "SRV \(name)"
    }
  }
}

/// The content codings that a client accepts, as its Accept-Encoding field says (RFC 9110 §12.5.3).
package struct AcceptedCodings: Sendable {
  private let codings: [Preference]
  private let any: Quality?

  /// - Parameter field: The value of the field. Nil, for a missing one, names no coding: only a client that names a
  ///   coding is sure to read it.
  package init(_ field: String?) {
    codings = field.map { Preference.list($0) } ?? []
    any = codings.quality(of: "*")
  }

  /// The weight of gzip, 0 if the client doesn't accept it.
  package var gzip: Quality { codings.quality(of: "gzip") ?? codings.quality(of: "x-gzip") ?? any ?? .none }

  /// The weight of deflate, 0 if the client doesn't accept it.
  package var deflate: Quality { codings.quality(of: "deflate") ?? any ?? .none }

  /// The weight of a body without a coding; nil if the field says nothing about it, which makes it acceptable.
  package var identity: Quality? { codings.quality(of: "identity") ?? any }

  /// Whether the client accepts gzip, and does not prefer a body without a coding.
  package var prefersGzip: Bool { gzip > .none && gzip >= identity ?? .none }
}

extension [Preference] {
  /// The weight given to a coding; if there are several, the greatest.
  fileprivate func quality(of coding: String) -> Quality? {
    lazy.filter { $0.name == coding }.map(\.quality).max()
  }
}

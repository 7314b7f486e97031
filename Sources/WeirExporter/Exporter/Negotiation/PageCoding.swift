/// How a page is encoded on its way.
package enum PageCoding: Hashable, Sendable {
  case identity
  case gzip
}

extension PageCoding {
  /// The coding that a request's Accept-Encoding field asks for; nil when it refuses all (RFC 9110 §12.5.3).
  ///
  /// A missing field allows any coding, and plain is the one that surely can be read. A field that allows gzip gets it
  /// unless it prefers plain.
  init?(acceptEncoding: String?) {
    guard let acceptEncoding else {
      self = .identity
      return
    }
    let codings = Preference.list(acceptEncoding)
    let any = codings.quality(of: "*")
    let gzip = codings.quality(of: "gzip") ?? codings.quality(of: "x-gzip") ?? any ?? .none
    let plain = codings.quality(of: "identity") ?? any
    if gzip > .none && gzip >= plain ?? .none {
      self = .gzip
    } else if plain != Quality.none {
      // Not mentioned is acceptable.
      self = .identity
    } else {
      return nil
    }
  }
}

extension [Preference] {
  /// The weight given to a coding; of several the greatest.
  fileprivate func quality(of coding: String) -> Quality? {
    lazy.filter { $0.name == coding }.map(\.quality).max()
  }
}

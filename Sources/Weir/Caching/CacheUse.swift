import WeirCurl
import WeirHTTP

/// What an attempt has to do with the cache; there is none without one.
final class CacheUse {
  typealias Ending = (error: TransferError?, report: TransferReport)

  let url: String
  let rules: CacheRules
  /// The fields of the request as it was sent, by lower-case name: cookies may have come while it waited.
  var sent: [String: String]
  /// What the server is asked about: whether it has changed.
  var questioned: ResponseCache.Found?
  /// What will be stored, if the rest of it comes.
  var candidate: CacheEntry?
  /// The body so far, of requests that don't keep it.
  var collected: Data?
  /// When the request was sent.
  var requested = 0.0
  /// The body of a stored response that is not served to its end, and how far it is.
  var served: Data?
  var offset = 0
  var isFeeding = false
  /// How the transfer ended that led to it.
  var ending: Ending?

  init(url: String, rules: CacheRules) {
    self.url = url
    self.rules = rules
    sent = rules.fields
  }
}

extension HopRequest {
  /// What tells it from others in the cache; nil when its response is not stored: somebody's password stands in the URL.
  var cacheURL: String? {
    guard let origin, let length = originLength, !origin.contains("@"), let url, let destination = Destination(url: url)
    else { return nil }
    let rest = text.utf8.dropFirst(length).prefix { $0 != UInt8(ascii: "#") }
    return "\(destination)\(rest.first == .slash ? "" : "/")\(String(decoding: rest, as: UTF8.self))"
  }
}

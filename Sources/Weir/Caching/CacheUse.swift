import Foundation
import FoundationNetworking
import WeirCurl

/// What an attempt has to do with the cache; there is none without one.
final class CacheUse {
  typealias Ending = (error: TransferError?, report: TransferReport)

  let url: String
  let rules: CacheRules
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
  }
}

extension HopRequest {
  /// What tells it from others in the cache; nil when its response is not stored: somebody's password stands in the URL.
  var cacheURL: String? {
    guard let origin, !origin.contains("@") else { return nil }
    return String(text.prefix { $0 != "#" })
  }
}

import WeirCurl
import WeirHTTP
import WeirIO

/// An attempt's use of the cache.
final class CacheUse {
  typealias Ending = (error: TransferError?, report: TransferReport)

  let url: String
  let rules: CacheRules
  /// The fields of the request as it was sent, by lower-case name: cookies may have been added while it waited.
  var sent: [String: String]
  /// The stored response that the server is asked to revalidate.
  var questioned: ResponseCache.Found?
  /// The entry that will be stored if the rest of the response comes.
  var candidate: CacheEntry?
  /// The body so far, for requests that don't keep it themselves.
  var collected: Data?
  /// When the request was sent.
  var requested = 0.0
  /// The body of a stored response that is not yet wholly delivered, and how much of it is.
  var served: Data?
  var offset = 0
  var isFeeding = false
  /// The end of the revalidating transfer that led to the stored body.
  var ending: Ending?

  init(url: String, rules: CacheRules) {
    self.url = url
    self.rules = rules
    sent = rules.fields
  }
}

extension HopRequest {
  /// The request's key in the cache; nil if its response is not stored, as the URL contains user information (a
  /// password).
  var cacheURL: String? {
    guard let origin, let target, !origin.contains("@"), let url,
      let host = url.host(percentEncoded: false), let destination = Destination(url: url)
    else { return nil }
    // A final dot stays: it is in the Host field too, by which a server may choose what it answers.
    return "\(destination.scheme)://\(CanonicalHost(host).inURL):\(destination.port)\(target)"
  }
}

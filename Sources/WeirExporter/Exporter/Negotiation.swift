import WeirHTTP
import WeirMetrics

// The format, the coding and the timeout that a scraper's header fields ask for.

extension Exposition.Format {
  /// The format that a request's Accept field asks for (RFC 9110 §12.5.1).
  ///
  /// Every scraper reads text. So text is the answer to a field that is missing, names no known format or refuses
  /// everything: an error would only leave the scraper without a page. Another format must be preferred: by its weight;
  /// at equal weights by a more specific range; at equal ranges by being named first. Protobuf must be named with its
  /// message and its encoding, as there are others for the same name.
  init(accept: String?) {
    self = .text
    guard let accept else { return }
    let ranges = Preference.list(accept)
    var best = ranges.match(Self.textType)
    for (format, type) in [(Self.openMetrics, Self.openMetricsType), (.protobuf, Self.protobufType)] {
      let match = ranges.match(type)
      if match.isPreferred(to: best) { (self, best) = (format, match) }
    }
  }

  private static let textType = MediaType(
    name: "text/plain", group: "text/*", parameters: ["version": "0.0.4", "charset": "utf-8"])
  private static let openMetricsType = MediaType(
    name: "application/openmetrics-text", group: "application/*", parameters: ["version": "1.0.0", "charset": "utf-8"])
  private static let protobufType = MediaType(
    name: "application/vnd.google.protobuf", group: nil,
    parameters: ["proto": "io.prometheus.client.metricfamily", "encoding": "delimited"])
}

private struct MediaType: Sendable {
  let name: String
  /// The range of all types that begin alike. Nil for a type that only a range with its name and all of its parameters
  /// stands for.
  let group: String?
  /// In lower case, as ranges have them.
  let parameters: [String: String]

  /// How specifically a range names this type; nil if it doesn't.
  func specificity(of range: Preference) -> Int? {
    let isNamed = range.name == name
    guard isNamed || group != nil && (range.name == group || range.name == "*/*") else { return nil }
    var matched: Set<String> = []
    for parameter in range.parameters {
      // Names here need no escaping, so they satisfy every escaping scheme that a scraper understands.
      if parameter.name == "escaping" { continue }
      guard parameters[parameter.name] == parameter.value else { return nil }
      matched.insert(parameter.name)
    }
    if group == nil, matched.count < parameters.count { return nil }
    return isNamed ? 2 + matched.count : range.name == "*/*" ? 0 : 1
  }
}

private struct RangeMatch {
  var quality = Quality.none
  var specificity = -1
  /// The position of the range in its field.
  var position = Int.max

  func isPreferred(to other: RangeMatch) -> Bool {
    guard quality > .none else { return false }
    if quality != other.quality { return quality > other.quality }
    if specificity != other.specificity { return specificity > other.specificity }
    return position < other.position
  }
}

extension [Preference] {
  /// The most specific range that names `type`; if there are several, the one with the greatest weight.
  fileprivate func match(_ type: MediaType) -> RangeMatch {
    var best = RangeMatch()
    for (position, range) in enumerated() {
      guard let specificity = type.specificity(of: range) else { continue }
      if specificity > best.specificity || (specificity == best.specificity && range.quality > best.quality) {
        best = RangeMatch(quality: range.quality, specificity: specificity, position: position)
      }
    }
    return best
  }
}

/// The content coding of a page.
package enum PageCoding: Hashable, Sendable {
  case identity
  case gzip

  /// The coding that a request's Accept-Encoding field asks for; nil if it refuses all (RFC 9110 §12.5.3).
  ///
  /// A missing field allows any coding. Then identity is the one that every client can read. A field that allows gzip
  /// gets it unless it prefers identity.
  init?(acceptEncoding: String?) {
    guard let acceptEncoding else {
      self = .identity
      return
    }
    let codings = AcceptedCodings(acceptEncoding)
    if codings.prefersGzip {
      self = .gzip
    } else if codings.identity != Quality.none {
      // A coding that the field doesn't mention is acceptable.
      self = .identity
    } else {
      return nil
    }
  }
}

/// The time that a scraper waits for its page.
enum ScrapeTimeout {
  /// Seconds within which the answer must be sent: `limit`, or less if the scraper waits less.
  ///
  /// A tenth of the announced time, at most half a second, is kept for the way back. So the scraper reads why there is
  /// no page instead of giving up by itself.
  /// - Parameter field: `X-Prometheus-Scrape-Timeout-Seconds`; ignored unless it is a number above 0.
  static func seconds(_ field: String?, limit: Double) -> Double {
    guard let field, let announced = Double(field), announced > 0, announced.isFinite else { return limit }
    return min(limit, announced - min(0.5, announced / 10))
  }
}

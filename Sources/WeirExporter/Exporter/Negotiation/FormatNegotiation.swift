import WeirMetrics

extension Exposition.Format {
  /// The format that a request's Accept field asks for (RFC 9110 §12.5.1).
  ///
  /// Text is what every scraper reads, so it is the answer to a field that is missing, names nothing that there is or
  /// refuses everything: an error would only make a dark page. OpenMetrics must be preferred: by its weight, at equal weights by
  /// a more specific range, and at equal ranges by being named first.
  init(accept: String?) {
    guard let accept else {
      self = .text
      return
    }
    let ranges = Preference.list(accept)
    let text = ranges.match(Self.textType)
    let openMetrics = ranges.match(Self.openMetricsType)
    self = openMetrics.isPreferred(to: text) ? .openMetrics : .text
  }

  private static let textType = MediaType(
    type: "text", subtype: "plain", parameters: ["version": "0.0.4", "charset": "utf-8"])
  private static let openMetricsType = MediaType(
    type: "application", subtype: "openmetrics-text", parameters: ["version": "1.0.0", "charset": "utf-8"])
}

private struct MediaType: Sendable {
  let type: String
  let subtype: String
  let parameters: [String: String]
  let name: String

  init(type: String, subtype: String, parameters: [String: String]) {
    self.type = type
    self.subtype = subtype
    self.parameters = parameters
    name = type + "/" + subtype
  }

  /// How specifically a range names this type; nil when it doesn't.
  func specificity(of range: Preference) -> Int? {
    let isNamed = range.name == name
    guard isNamed || range.name == type + "/*" || range.name == "*/*" else { return nil }
    var matched: Set<String> = []
    for parameter in range.parameters {
      // Names here need no escaping, so whichever way of escaping the scraper understands is satisfied.
      if parameter.name == "escaping" { continue }
      guard parameters[parameter.name] == parameter.value else { return nil }
      matched.insert(parameter.name)
    }
    return isNamed ? 2 + matched.count : range.name == "*/*" ? 0 : 1
  }
}

private struct RangeMatch {
  var quality = Quality.none
  var specificity = -1
  /// Of the range in its field.
  var position = Int.max

  func isPreferred(to other: RangeMatch) -> Bool {
    guard quality > .none else { return false }
    if quality != other.quality { return quality > other.quality }
    if specificity != other.specificity { return specificity > other.specificity }
    return position < other.position
  }
}

extension [Preference] {
  /// The most specific range that names `type`; of several the one with most weight.
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

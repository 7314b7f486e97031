import WeirHTTP

// A route's rules about content codings.

extension ConfigurationBuilder {
  /// - Parameter headers: The route's changes to responses.
  mutating func compression(_ reader: ConfigurationReader, beside headers: HeaderRules) -> CompressionRules? {
    let rules: CompressionRules? = reader.mapping(orOff: true, on: "write { responses: gzip }") { keys in
      var rules = CompressionRules()
      let responses = keys.take("responses")?.read(as: .string) {
        ["gzip", "off"].contains($0) ? nil : "must be gzip or off"
      }
      rules.compressesResponses = responses == "gzip"
      if let types = keys.take("types") { rules.types = Self.types(types) }
      if let bytes = keys.takeCount("minimumBytes", within: CompressionRules.minimumBytesRange) {
        rules.minimumBytes = bytes
      }
      if let level = keys.takeCount("level", within: CompressionRules.levels) { rules.level = level }
      if let decodes = keys.take("decodeResponses", as: .boolean) { rules.decodesResponses = decodes }
      if let decodes = keys.take("decodeRequests", as: .boolean) { rules.decodesRequests = decodes }
      return rules
    }
    guard let rules else { return nil }
    if rules.isIdle { warn(reader, "codes nothing; give responses, decodeResponses or decodeRequests") }
    let isRuled = (headers.set + headers.add).map(\.name) + headers.remove
    if rules.compressesResponses || rules.decodesResponses,
      isRuled.contains(where: { FieldSyntax.isSameName($0, "content-encoding") })
    {
      reader.report("responseHeaders has Content-Encoding, which says how bodies are coded here; leave one of them out")
    }
    return rules
  }

  private static func types(_ reader: ConfigurationReader) -> [MediaTypePattern] {
    guard let list = reader.elements() else { return [] }
    if !(1...CompressionRules.maximumTypes).contains(list.count) {
      reader.report("holds \(list.count) types; give 1 to \(CompressionRules.maximumTypes)")
    }
    return list.compactMap { element in
      element.read(as: .string, unless: problem(type:)).flatMap(MediaTypePattern.init)
    }
  }

  private static func problem(type: String) -> String? {
    if FieldSyntax.isSameName(type, "text/event-stream") { return "event streams are never compressed" }
    return MediaTypePattern(type) == nil
      ? "must be a media type without parameters, such as application/json, text/* or application/*+json" : nil
  }
}

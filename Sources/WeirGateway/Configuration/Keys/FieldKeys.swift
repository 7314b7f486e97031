import WeirHTTP
import WeirTransport

// Changes to header fields, and the codings of bodies.

extension HeaderRules {
  static let ofRequests = form(
    of: .requests,
    set: """
      replaces every field of the name: `set: { X-Caller: shop, X-Real-IP: "{client}" }`. A value, but that of `Host`, may \
      be a secret of a file, which is taken as it is
      """,
    add: """
      a further field beside those of the name: `add: { X-Tag: gateway }`; not `Host`, `X-Forwarded-Host`, \
      `X-Forwarded-Proto` and `X-Retry-Attempt`, of which a request has one. Values as in `set`
      """,
    remove: "`remove: [X-Debug]`"
  ).hidden

  static let ofResponses = form(
    of: .responses,
    set: """
      `set: { Strict-Transport-Security: max-age=31536000 }`; not `Via`, `Date` and the fields of framing and connection
      """,
    add: "`add: { Set-Cookie: seen=1 }`", remove: "`remove: [Server, X-Powered-By]`")

  private static func form(of messages: Messages, set: String, add: String, remove: String) -> ConfigurationForm<Self> {
    let name = ConfigurationForm.text { problem(removing: $0, from: messages) }
    let takesSecrets = messages == .requests
    return ConfigurationMapping(HeaderRules()) {
      Key("set", HeaderRule.list(takesSecrets) { problem(setting: $0, of: messages) }, \.set, set)
      Key("add", HeaderRule.list(takesSecrets) { problem(adding: $0, to: messages) }, \.add, add, isDetailed: false)
      Key("remove", .list(of: name).called("list of names"), \.remove, remove)
    }.form { rules, given in
      var names: Set<String> = []
      if let set = given["set"], case .mapping = set.node.content {
        for entry in set.partedEntries() ?? [] where !names.insert(FieldSyntax.lowercased(entry.key)).inserted {
          entry.value.report("the same field is set twice")
        }
      }
      if let remove = given["remove"], case .sequence = remove.node.content {
        for field in remove.elements() ?? [] {
          guard case .scalar(let scalar) = field.node.content, names.contains(FieldSyntax.lowercased(scalar.text)),
            problem(removing: scalar.text, from: messages) == nil
          else { continue }
          field.report("the field is also under set, which replaces it anyway")
        }
      }
      return rules
    }
  }
}

extension HeaderRule {
  /// Fields with their values.
  ///
  /// - Parameters:
  ///   - takesSecrets: Whether values may come from files.
  ///   - problem: Returns the reason why a field can't have a value, or nil.
  static func list(
    _ takesSecrets: Bool = true, unless problem: @escaping @Sendable (String) -> String?
  ) -> ConfigurationForm<[HeaderRule]> {
    let text = ConfigurationShape.text(nil)
    let value = takesSecrets ? .either([text, ConfigurationForm<Secret>.fileShape]) : text
    return ConfigurationForm<[HeaderRule]>(.entries(of: value, 0...Int.max)) { reader in
      reader.partedEntries()?.compactMap { name, field in
        if let reason = problem(name) { field.report(reason) }
        guard case .mapping = field.node.content else { return field.headerRule(name) }
        guard takesSecrets, !FieldSyntax.isSameName(name, "host") else {
          let what = takesSecrets ? "Host is no secret" : "clients see the fields of responses"
          field.report("\(what), so its value can't come from a file; write it as text")
          return nil
        }
        return ConfigurationForm<Secret>.secret.read(field).map { HeaderRule(name: name, value: "", secret: $0) }
      }
    }
  }
}

extension ConfigurationReader {
  fileprivate func headerRule(_ name: String) -> HeaderRule? {
    guard let value = read(as: .string) else { return nil }
    if !FieldSyntax.isValue(value.utf8) {
      report("a field value must not hold control characters, nor begin or end with a space")
    }
    if FieldSyntax.isSameName(name, "host") {
      // A host that depends on the client is sent by rewriteHost, which has a substitute for a bad one.
      if value.contains("{host}") || value.contains("{client}") {
        report("write rewriteHost: client for the client's host")
      } else if let problem = ConfigurationForm<String>.problem(host: value) {
        report(problem)
      }
    }
    return HeaderRule(name: name, value: value)
  }
}

// MARK: Content codings

extension CompressionRules {
  static let mapping = ConfigurationMapping(CompressionRules()) {
    Key("responses", responses, \.compressesResponses, "`gzip`: responses are compressed for clients that accept it")
    Key(
      "types", .list(of: type, 1...maximumTypes, "types"), \.types,
      """
      types of responses that are compressed, without parameters: `types: [application/json, "text/*", \
      "application/*+json"]`. `text/event-stream` is never compressed
      """)
    Key(
      "minimumBytes", .integer(minimumBytesRange), \.minimumBytes,
      "shorter bodies are not compressed. Bodies of unknown length always are")
    Key("level", .integer(levels), \.level, "from the fastest to the smallest")
    Key(
      "decodeResponses", .boolean, \.decodesResponses,
      "`true`: gzip and deflate are removed for clients that don't accept them")
    Key(
      "decodeRequests", .boolean, \.decodesRequests,
      "`true`: gzip and deflate are removed before requests go to the upstream")
  }

  static let form: ConfigurationForm<CompressionRules?> = mapping.formOrOff(on: "write { responses: gzip }") {
    rules, given in
    if rules.isIdle { given.reader.warn("codes nothing; give responses, decodeResponses or decodeRequests") }
    return rules
  }

  private static let responses = ConfigurationForm<Bool>(
    .words(["gzip", "off"]), text: { $0 ? "gzip" : "off" }
  ) { reader in
    reader.read(as: .string) { ["gzip", "off"].contains($0) ? nil : "must be gzip or off" }.map { $0 == "gzip" }
  }

  private static let type = ConfigurationForm.text { type in
    if FieldSyntax.isSameName(type, "text/event-stream") { return "event streams are never compressed" }
    return MediaTypePattern(type) == nil
      ? "must be a media type without parameters, such as application/json, text/* or application/*+json" : nil
  }.map(back: \.description) { MediaTypePattern($0) }
}

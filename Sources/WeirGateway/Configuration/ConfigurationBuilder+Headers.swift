import WeirHTTP

// A route's changes to header fields.

extension ConfigurationReader {
  func headers(of messages: HeaderRules.Messages) -> HeaderRules? {
    mapping { keys in
      var rules = HeaderRules()
      var names: Set<String> = []
      rules.set = (keys.take("set")?.entries() ?? []).compactMap { name, field in
        if let reason = HeaderRules.problem(setting: name, of: messages) { field.report(reason) }
        if !names.insert(FieldSyntax.lowercased(name)).inserted { field.report("the same field is set twice") }
        return field.headerRule(name)
      }
      rules.add = (keys.take("add")?.entries() ?? []).compactMap { name, field in
        if let reason = HeaderRules.problem(adding: name, to: messages) { field.report(reason) }
        return field.headerRule(name)
      }
      for field in keys.take("remove")?.elements() ?? [] {
        let name = field.read(as: .string) { HeaderRules.problem(removing: $0, from: messages) }
        guard let name else { continue }
        if names.contains(FieldSyntax.lowercased(name)) {
          field.report("the field is also under set, which replaces it anyway")
        }
        rules.remove.append(name)
      }
      return rules
    }
  }

  func headerRule(_ name: String) -> HeaderRule? {
    guard let value = read(as: .string) else { return nil }
    if !FieldSyntax.isValue(value.utf8) {
      report("a field value must not hold control characters, nor begin or end with a space")
    }
    if FieldSyntax.isSameName(name, "host") {
      // A host that depends on the client is sent by rewriteHost, which has a substitute for a bad one.
      if value.contains("{host}") || value.contains("{client}") {
        report("write rewriteHost: client for the client's host")
      } else if let problem = ConfigurationBuilder.problem(hostField: value) {
        report(problem)
      }
    }
    return HeaderRule(name: name, value: value)
  }
}

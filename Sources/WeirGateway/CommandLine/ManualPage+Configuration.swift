extension ManualPage {
  static var configurationParts: [String] {
    [
      Roff.section("Name"), #"weir.yml \- configuration of the gateway weir"#,
      Roff.section("Description"),
      Roff.markdown(
        """
        The file that `weir serve --config.file` names is YAML, at most 1 MiB. A key that is not described here is an \
        error, and so is a key without a value: leave it out for the default. `weir check` says what is wrong with a \
        file, by line and column. SIGHUP has weir read it again.
        """),
      ".PP",
      Roff.markdown(
        """
        A duration is `30s`, `500ms`, `1m30s`, `1.5s`, or a plain number of seconds; units are `d`, `h`, `m`, `s`, \
        `ms`. Names of keys in lists are written without their places: `rateLimits.rate` is the key `rate` of each \
        entry of `rateLimits`. *gateway.md*, *upstreams.md* and *access.md* are among weir's documents.
        """),
      Roff.section("Example"), Roff.example(example),
    ]
      + KeyTable.all.flatMap { table in
        table.sections.flatMap { section in
          [Roff.section(section.title), "Keys \(section.place):"]
            + section.rows.map { entry(of: $0, table.document) }
        }
      }
      + [Roff.section("See also"), ".BR weir (1)"]
  }

  static func entry(of key: ConfigurationOutline.Row, _ document: String) -> String {
    let isRule = key.standard.isEmpty || key.standard.hasPrefix("this") || key.standard.hasPrefix("required")
    let standard = isRule || key.standard == "none" ? key.standard : "default: \(key.standard)"
    let facts = [key.kind, standard].filter { !$0.isEmpty && $0 != "none" }.joined(separator: "; ")
    return Roff.entry(
      Roff.bold(key.name), "(\(Roff.markdown(facts, of: document)))\n.br\n\(Roff.markdown(key.text, of: document))")
  }

  private static let example = """
    routes:
      - name: payments
        match: { host: payments.internal, pathPrefix: /v1 }
        upstream: https://api.payments.example.com
        timeout: 5s
        retry: { limit: 2, statusCodes: [502, 503, 504], methods: [GET, HEAD] }
    """
}

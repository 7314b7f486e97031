import Weir

/// A manual page that `weir manual` prints.
package enum ManualPage: String, CaseIterable, Sendable {
  case program = "weir.1"
  case configuration = "weir.yml.5"

  /// The page, in the `man` macros of roff.
  package var text: String {
    let (title, section, manual) =
      switch self {
      case .program: ("WEIR", 1, "User Commands")
      case .configuration: ("WEIR.YML", 5, "File Formats")
      }
    let parts =
      switch self {
      case .program: Self.programParts
      case .configuration: Self.configurationParts
      }
    let head = ".TH \(title) \(section) \"\" \"weir \(WeirInfo.version)\" \"\(manual)\""
    return ([#".\" Made by `weir manual \#(rawValue)`."#, head] + parts).joined(separator: "\n") + "\n"
  }

  private static var programParts: [String] {
    [
      Roff.section("Name"), #"weir \- HTTP gateway for outbound requests that shows how they fare"#,
      Roff.section("Synopsis"),
    ] + synopsis + [
      Roff.section("Description"),
      Roff.markdown(
        """
        weir forwards HTTP requests by routes, and shows at its metrics address, in Prometheus' formats, how they \
        fare. Without a command it serves. A flag's value follows behind an equals sign or as the next argument. The \
        routes are those of the file that `--config.file` names, which
        """),
      ".BR weir.yml (5)", Roff.markdown("describes. Without it a demo origin is behind the gateway."),
      Roff.section("Commands"),
    ] + commands + HelpTopic.allCases.filter { !$0.flags.isEmpty }.flatMap(flags) + [
      Roff.section("Signals")
    ] + entries(signals) + [Roff.section("Exit status")] + entries(statuses) + [
      Roff.section("Environment")
    ] + entries(variables) + [Roff.section("Files")] + entries(files) + [
      Roff.section("Examples"),
      "Forward to a demo origin, and look at what was forwarded:\n.PP",
      Roff.example("weir &\ncurl http://127.0.0.1:8080/echo\ncurl http://127.0.0.1:9464/metrics"),
      ".PP\nCheck a configuration before it is followed:\n.PP",
      Roff.example("weir check /etc/weir/weir.yml && pkill -HUP -x weir"),
      ".PP\nAsk whether a gateway is ready, as a container's health check:\n.PP",
      Roff.example("weir probe --fail http://127.0.0.1:9464/-/ready"),
      Roff.section("See also"), ".BR weir.yml (5),", ".BR curl (1),", ".BR systemd.socket (5)",
    ]
  }

  private static var synopsis: [String] {
    let lines = HelpTopic.allCases.map { topic in
      let name = topic == .serve ? "[\(Roff.bold(topic.rawValue))]" : Roff.bold(topic.rawValue)
      let flags = topic.flags.isEmpty ? "" : " [\(Roff.italic("flags"))]"
      let argument = topic.argument.map { " " + Roff.italic($0) } ?? ""
      return "\(Roff.bold("weir")) \(name)\(flags)\(argument)"
    }
    let others = ["\(Roff.bold("weir help")) [\(Roff.italic("command"))]", Roff.bold("weir --version")]
    return [(lines + others).joined(separator: "\n.br\n")]
  }

  private static var commands: [String] {
    let named = HelpTopic.commands.map { command in (Roff.bold(command.name), Roff.escaped(command.summary + ".")) }
    return named.map(Roff.entry) + [
      ".PP\n"
        + Roff.markdown(
          "`weir completion` takes \(list(Shell.allCases)), and `weir manual` \(list(ManualPage.allCases)).")
    ]
  }

  private static func list<Word: RawRepresentable<String>>(_ words: [Word]) -> String {
    let words = words.map { "`\($0.rawValue)`" }
    return words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
  }

  private static func flags(of topic: HelpTopic) -> [String] {
    [
      Roff.section("Flags of \(topic.rawValue)")
    ]
      + topic.flags.map { flag in
        let value = flag.value.map { "=" + Roff.italic($0) } ?? ""
        return Roff.entry(Roff.bold(flag.name) + value, Roff.escaped(flag.help))
      }
  }

  private static func entries(_ entries: [(word: String, text: String)]) -> [String] {
    entries.map { Roff.entry(Roff.bold($0.word), Roff.markdown($0.text)) }
  }

  private static let signals: [(word: String, text: String)] = [
    (
      "SIGTERM, SIGINT",
      """
      End. `/-/ready` answers 503; after `--gateway.shutdown-delay` the listeners close, and requests under way may \
      end until `--gateway.drain-timeout`. A second signal ends the delay, and one during the drain ends weir at once.
      """
    ),
    ("SIGHUP", "Read all files again. If one is wrong, everything stays as it was."),
    ("SIGUSR2", "Start the program anew, and hand it all listening sockets; no connection is refused."),
  ]

  private static let statuses: [(word: String, text: String)] = [
    ("0", "Success."),
    (
      "1",
      """
      Failure: `serve` can't start or was cut short, `check` found problems or could not \
      fetch a credential, `probe` got no whole response, with \
      `--fail` a status of 400 or more, or with `--module` a `probe_success` of 0.
      """
    ),
    ("2", "The command line is wrong."),
  ]

  private static let variables: [(word: String, text: String)] = [
    ("NOTIFY_SOCKET, WATCHDOG_USEC", "Notices and signs of life for systemd, of units with `Type=notify`."),
    ("LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES", "Sockets that systemd has opened."),
  ]

  private static let files: [(word: String, text: String)] = [
    ("/etc/weir/weir.yml", "The configuration that the service of the Debian package names by `--config.file`.")
  ]

  private static var configurationParts: [String] {
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
        entry of `rateLimits`. *gateway.md* among weir's documents says which of them to read.
        """),
      Roff.section("Example"), Roff.example(example),
    ]
      + KeyTable.all.flatMap { table in
        [Roff.section(table.title), "Keys \(table.place):"] + table.rows.map(entry)
      }
      + [Roff.section("See also"), ".BR weir (1)"]
  }

  static func entry(of key: ConfigurationOutline.Row) -> String {
    let isRule = key.standard.isEmpty || key.standard.hasPrefix("this") || key.standard.hasPrefix("required")
    let standard = isRule || key.standard == "none" ? key.standard : "default: \(key.standard)"
    let facts = [key.kind, standard].filter { !$0.isEmpty && $0 != "none" }.joined(separator: "; ")
    return Roff.entry(
      Roff.bold(key.name), "(\(Roff.markdown(facts)))\n.br\n\(Roff.markdown(key.text))")
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

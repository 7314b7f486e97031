extension HelpTopic {
  /// The text that `--help` prints.
  package var usage: String {
    switch self {
    case .serve:
      """
      weir forwards HTTP requests, and shows on /metrics how they fare.

      Usage:
        weir [serve] [flags]    forward requests until SIGTERM; SIGHUP reads the configuration again,
                                and SIGUSR2 has a new process take over
        weir check FILE         say what is wrong with a configuration
        weir probe URL          make one request and show where its time went
        weir --version

      Flags of serve:
      \(Self.list(Flag<ServeOptions>.all))

      The metrics address also serves /-/healthy and /-/ready. Without --config.file, try:
        curl http://127.0.0.1:8080/echo

      """
    case .check:
      """
      weir check reads a configuration and says everything that is wrong with it, by line and column.

      Usage:
        weir check FILE
        weir check --web.config.file=FILE --probe.config.file=FILE [FILE]

      Flags:
      \(Self.list(Flag<CheckOptions>.all))

      Exit status: 0 if all is right, 1 if not.

      """
    case .probe:
      """
      weir probe makes one request and shows where its time went.

      Usage:
        weir probe [flags] URL

      Flags:
      \(Self.list(Flag<ProbeOptions>.all))

      Exit status: 0 if a whole response came; 1 if none came or it broke off, and with --fail also if its status is 400
      or more. With --module: 0 if probe_success is 1, else 1.

      """
    }
  }

  private static func list<Options>(_ flags: [Flag<Options>]) -> String {
    let flags = flags.map { (flag: $0.name + ($0.value.map { "=\($0)" } ?? ""), help: $0.help) }
    let rows = flags + [(flag: "--help", help: "This text.")]
    let width = rows.map(\.flag.count).max() ?? 0
    return rows.map { row in
      "  \(row.flag)\(String(repeating: " ", count: width - row.flag.count))  \(row.help)"
    }.joined(separator: "\n")
  }
}

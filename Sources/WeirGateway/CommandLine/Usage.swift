extension HelpTopic {
  /// The effect of the command, in a few words.
  var summary: String {
    switch self {
    case .serve: "forward requests until SIGTERM"
    case .check: "say what is wrong with a configuration"
    case .probe: "make one request and show where its time went"
    case .completion: "print completions for a shell"
    case .manual: "print a manual page"
    case .schema: "print a JSON Schema of the configuration file"
    }
  }

  /// The argument behind the flags; nil for a command without one.
  var argument: String? {
    switch self {
    case .serve, .schema: nil
    case .check: "FILE"
    case .probe: "URL"
    case .completion: "SHELL"
    case .manual: "PAGE"
    }
  }

  var argumentCandidates: Candidates {
    switch self {
    case .serve, .probe, .schema: .none
    case .check: .files
    case .completion: .words(Shell.allCases.map(\.rawValue))
    case .manual: .words(ManualPage.allCases.map(\.rawValue))
    }
  }

  /// The command's own flags, without `--help` and `--version`, which all commands have.
  var flags: [FlagWords] {
    switch self {
    case .serve: Flag<ServeOptions>.all.map(\.words)
    case .check: Flag<CheckOptions>.all.map(\.words)
    case .probe: Flag<ProbeOptions>.all.map(\.words)
    case .completion, .manual, .schema: []
    }
  }

  private static let help = FlagWords(name: "--help", help: "This text.")

  /// The command's flags with those that all commands have.
  var allFlags: [FlagWords] {
    flags + [Self.help, FlagWords(name: "--version", help: "The versions of weir and its libraries.")]
  }

  /// Commands with summaries, also those without a help of their own.
  static var commands: [(name: String, summary: String)] {
    allCases.map { ($0.rawValue, $0.summary) } + [
      ("help", "explain a command"), ("version", "print the versions of weir and its libraries"),
    ]
  }

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
        weir completion SHELL   print completions for bash, zsh or fish
        weir manual PAGE        print a manual page: weir.1, or weir.yml.5 with the keys of the file
        weir schema             print a JSON Schema of the file, for editors
        weir help COMMAND       explain a command
        weir --version          print the versions of weir and its libraries

      Flags of serve:
      \(Self.list(flags))

      The metrics address also serves /-/healthy and /-/ready. Without --config.file, try:
        curl http://127.0.0.1:8080/echo

      """
    case .check:
      """
      weir check reads a configuration and says everything that is wrong with it, by line and column.

      Usage:
        weir check FILE
        weir check --credentials FILE
        weir check --web.config.file=FILE --probe.config.file=FILE [FILE]

      Flags:
      \(Self.list(flags))

      Exit status: 0 if all is right, 1 if not, or if a credential could not be fetched.

      """
    case .probe:
      """
      weir probe makes one request and shows where its time went.

      Usage:
        weir probe [flags] URL

      Flags:
      \(Self.list(flags))

      Exit status: 0 if a whole response came; 1 if none came or it broke off, and with --fail also if its status is 400
      or more. With --module: 0 if probe_success is 1, else 1.

      """
    case .completion:
      """
      weir completion prints a script that has a shell complete weir's commands, flags and values.

      Usage:
        weir completion bash    for ~/.local/share/bash-completion/completions/weir, or: source <(weir completion bash)
        weir completion zsh     for a file _weir in a directory of fpath, or: source <(weir completion zsh)
        weir completion fish    for ~/.config/fish/completions/weir.fish, or: weir completion fish | source

      """
    case .manual:
      """
      weir manual prints a manual page, for a directory of MANPATH.

      Usage:
        weir manual weir.1        the program: commands, flags, signals, exit status
        weir manual weir.yml.5    the configuration file: every key

      To read one at once:
        weir manual weir.yml.5 | man -l -

      """
    case .schema:
      """
      weir schema prints a JSON Schema (draft 2020-12) of the configuration file, by which editors complete and check it.

      Usage:
        weir schema > weir.schema.json

      Editors with yaml-language-server read it where the first line of weir.yml is:
        # yaml-language-server: $schema=weir.schema.json

      """
    }
  }

  private static func list(_ flags: [FlagWords]) -> String {
    let rows = flags + [help]
    let width = rows.map(\.form.count).max() ?? 0
    return rows.map { row in
      "  \(row.form)\(String(repeating: " ", count: width - row.form.count))  \(row.help)"
    }.joined(separator: "\n")
  }
}

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
        weir check --web.config.file=FILE --probe.config.file=FILE [FILE]

      Flags:
      \(Self.list(flags))

      Exit status: 0 if all is right, 1 if not.

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
    let rows = flags.map { (form: $0.form, help: $0.help) } + [(form: "--help", help: "This text.")]
    let width = rows.map(\.form.count).max() ?? 0
    return rows.map { row in
      "  \(row.form)\(String(repeating: " ", count: width - row.form.count))  \(row.help)"
    }.joined(separator: "\n")
  }
}

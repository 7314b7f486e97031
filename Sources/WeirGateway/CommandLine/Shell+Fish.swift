extension Shell {
  static var fishCompletion: String {
    let names = HelpTopic.commands.map(\.name).joined(separator: " ")
    let commands = HelpTopic.commands.map { command in
      "complete -c weir -n __fish_use_subcommand -a \(command.name) -d \(quoted(command.summary))"
    }
    let topics = HelpTopic.allCases.map(\.rawValue).joined(separator: " ")
    let lines =
      [
        "# Completions of weir for fish, made by `weir completion fish`.",
        "complete -c weir -f",
      ] + commands + HelpTopic.allCases.flatMap { fishLines(of: $0, among: names) } + [
        "complete -c weir -n '__fish_seen_subcommand_from help' -a \(quoted(topics))"
      ]
    return lines.joined(separator: "\n") + "\n"
  }

  /// `weir --flag` means `weir serve --flag`.
  private static func fishLines(of topic: HelpTopic, among names: String) -> [String] {
    let others = names.split(separator: " ").filter { $0 != HelpTopic.serve.rawValue }.joined(separator: " ")
    let condition = quoted(
      topic == .serve
        ? "not __fish_seen_subcommand_from \(others)" : "__fish_seen_subcommand_from \(topic.rawValue)")
    let flags = topic.allFlags.map { flag in
      let value = flag.value == nil ? "" : fishValue(flag.candidates)
      return "complete -c weir -n \(condition) -l \(flag.name.dropFirst(2))\(value) -d \(quoted(flag.help))"
    }
    let argument: String? =
      switch topic.argumentCandidates {
      case .none: nil
      case .files: "complete -c weir -n \(condition) -F"
      case .words(let words): "complete -c weir -n \(condition) -a \(quoted(words.joined(separator: " ")))"
      }
    return flags + (argument.map { [$0] } ?? [])
  }

  private static func fishValue(_ candidates: Candidates) -> String {
    switch candidates {
    case .none: " -x"
    case .files: " -r -F"
    case .words(let words): " -x -a \(quoted(words.joined(separator: " ")))"
    }
  }
}

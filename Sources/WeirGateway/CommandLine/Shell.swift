/// A shell for which `weir completion` prints completions.
package enum Shell: String, CaseIterable, Sendable {
  case bash
  case zsh
  case fish

  /// A script that has the shell complete commands, flags and those values of flags that are words or files.
  package var completion: String {
    switch self {
    case .bash: Self.bashCompletion
    case .zsh: Self.zshCompletion
    case .fish: Self.fishCompletion
    }
  }

  /// A text in single quotes, as all three shells read it.
  static func quoted(_ text: String) -> String {
    "'" + text.replacing("'", with: #"'\''"#) + "'"
  }

  /// The part that knows bash: it finds out which word is to be completed, and proposes words or files for it.
  private static var bashCompletion: String {
    #"""
    # Completions of weir for bash, made by `weir completion bash`.
    _weir() {
      local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=serve flag= prefix= words=
      COMPREPLY=()
      if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} != -* ]]; then command=${COMP_WORDS[1]}; fi
      # bash takes the equals sign of --flag=value for a word of its own, unless COMP_WORDBREAKS lacks it.
      if [[ $word == -*=* ]]; then
        flag=${word%%=*} prefix=$flag= word=${word#*=}
      elif [[ $word == = ]]; then
        flag=$before word=
      elif [[ $before == = ]]; then
        flag=${COMP_WORDS[COMP_CWORD - 2]}
      elif [[ $before == -* ]]; then
        flag=$before
      fi
      case "$command $flag" in
    \#(bashValues)
        *)
          if [[ $word == -* ]]; then
            case $command in
    \#(bashFlags)
            esac
          elif ((COMP_CWORD == 1)); then
            words=\#(quoted(HelpTopic.commands.map(\.name).joined(separator: " ")))
          else
            case $command in
    \#(bashArguments)
            esac
          fi
          ;;
      esac
      if [[ $words == FILES ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -f -- "$word")
      else
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$words" -- "$word")
        if [[ ${COMPREPLY[0]-} == *= ]]; then compopt -o nospace 2>/dev/null; fi
      fi
      return 0
    }
    complete -F _weir weir

    """#
  }

  /// A case for each flag with a value.
  private static var bashValues: String {
    HelpTopic.allCases.flatMap { topic in
      topic.flags.filter { $0.value != nil }.map { flag in
        #"    "\#(topic.rawValue) \#(flag.name)") words=\#(bashWords(flag.candidates)) ;;"#
      }
    }.joined(separator: "\n")
  }

  private static var bashFlags: String {
    HelpTopic.allCases.map { topic in
      let names = topic.allFlags.map { $0.name + ($0.value == nil ? "" : "=") }
      return "          \(topic.rawValue)) words=\(quoted(names.joined(separator: " "))) ;;"
    }.joined(separator: "\n")
  }

  private static var bashArguments: String {
    let topics = HelpTopic.allCases.map { "          \($0.rawValue)) words=\(bashWords($0.argumentCandidates)) ;;" }
    let help = "          help) words=\(bashWords(.words(HelpTopic.allCases.map(\.rawValue)))) ;;"
    return (topics + [help]).joined(separator: "\n")
  }

  private static func bashWords(_ candidates: Candidates) -> String {
    switch candidates {
    case .none: ""
    case .files: "FILES"
    case .words(let words): quoted(words.joined(separator: " "))
    }
  }

  private static var fishCompletion: String {
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

  private static var zshCompletion: String {
    let commands = HelpTopic.commands.map { "      \(quoted("\($0.name):\($0.summary)"))" }.joined(separator: "\n")
    let cases = HelpTopic.allCases.map(zshArguments).joined(separator: "\n")
    let topics = HelpTopic.allCases.map(\.rawValue).joined(separator: " ")
    return #"""
      #compdef weir
      # Completions of weir for zsh, made by `weir completion zsh`.
      _weir() {
        local command=serve
        local -a commands
        commands=(
      \#(commands)
        )
        if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
          _describe command commands
          return
        fi
        if [[ $words[2] != -* ]]; then
          command=$words[2]
          shift words
          (( CURRENT-- ))
        fi
        case $command in
      \#(cases)
          help) _arguments '1:command:(\#(topics))' ;;
        esac
      }
      if [[ $funcstack[1] == _weir ]]; then
        _weir "$@"
      else
        compdef _weir weir
      fi

      """#
  }

  /// A case with the flags and the argument of a command.
  private static func zshArguments(_ topic: HelpTopic) -> String {
    var specifications = topic.allFlags.map { flag in
      let help = flag.help.replacing("[", with: #"\["#).replacing("]", with: #"\]"#)
      let name = (flag.isRepeatable ? "*" : "") + flag.name + (flag.value == nil ? "" : "=")
      let value = flag.value.map { zshMessage($0) + zshAction(flag.candidates) } ?? ""
      return quoted("\(name)[\(help)]\(value)")
    }
    if let argument = topic.argument {
      specifications.append(quoted("1\(zshMessage(argument))\(zshAction(topic.argumentCandidates))"))
    }
    let lines = specifications.map { " \\\n        \($0)" }.joined()
    return "    \(topic.rawValue))\n      _arguments\(lines)\n      ;;"
  }

  /// The name of a value, in which a colon would begin its action.
  private static func zshMessage(_ value: String) -> String { ":" + value.replacing(":", with: #"\:"#) }

  private static func zshAction(_ candidates: Candidates) -> String {
    switch candidates {
    case .none: ": "
    case .files: ":_files"
    case .words(let words): ":(\(words.joined(separator: " ")))"
    }
  }
}

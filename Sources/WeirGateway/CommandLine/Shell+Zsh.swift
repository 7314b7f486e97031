extension Shell {
  static var zshCompletion: String {
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

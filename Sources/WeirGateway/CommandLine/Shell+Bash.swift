extension Shell {
  /// The part that knows bash: it finds out which word is to be completed, and proposes words or files for it.
  static var bashCompletion: String {
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
}

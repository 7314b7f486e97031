/// The words of a flag without its effect, for help, completions and manual pages.
struct FlagWords: Equatable {
  let name: String
  /// The word that stands for the value; nil for a flag without one.
  let value: String?
  let help: String
  let isRepeatable: Bool
  let candidates: Candidates
}

/// Values that a shell may propose for a flag or an argument.
enum Candidates: Equatable {
  case none
  case files
  case words([String])
}

extension Flag {
  var words: FlagWords {
    let candidates: Candidates = choices.isEmpty ? (value == "FILE" ? .files : .none) : .words(choices)
    return FlagWords(name: name, value: value, help: help, isRepeatable: isRepeatable, candidates: candidates)
  }
}

extension FlagWords {
  /// `--flag=VALUE`, or `--flag` for one without a value.
  var form: String { name + (value.map { "=\($0)" } ?? "") }
}

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

  /// The command's flags with those that all commands have.
  var allFlags: [FlagWords] {
    flags + [
      FlagWords(name: "--help", value: nil, help: "This text.", isRepeatable: false, candidates: .none),
      FlagWords(
        name: "--version", value: nil, help: "The versions of weir and its libraries.", isRepeatable: false,
        candidates: .none),
    ]
  }

  /// Commands with summaries, also those without a help of their own.
  static var commands: [(name: String, summary: String)] {
    allCases.map { ($0.rawValue, $0.summary) } + [
      ("help", "explain a command"), ("version", "print the versions of weir and its libraries"),
    ]
  }
}

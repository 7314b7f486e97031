import WeirHTTP

extension Command {
  /// Reads the arguments after the program's name. `weir` alone, and `weir --flag`, mean `weir serve`.
  package init(parsing arguments: [String]) throws(CommandLineError) {
    guard let first = arguments.first, !first.hasPrefix("-") else {
      self = try Self.serve(arguments[...])
      return
    }
    let rest = arguments.dropFirst()
    switch first {
    case "serve": self = try Self.serve(rest)
    case "check": self = try Self.check(rest)
    case "probe": self = try Self.probe(rest)
    case "completion": self = try Self.word(of: .completion, rest, Command.completion)
    case "manual": self = try Self.word(of: .manual, rest, Command.manual)
    case "schema": self = try Self.schema(rest)
    case "help": self = .help(rest.first.flatMap(HelpTopic.init) ?? .serve)
    case "version": self = .version
    default:
      let names = HelpTopic.allCases.map(\.rawValue) + ["help", "version"]
      let hint = suggestion(for: first, among: names).map { "did you mean \(quoted($0))?" }
      throw CommandLineError(
        "unknown command \(quoted(first)); \(hint ?? "there are \(names.joined(separator: ", "))")")
    }
  }

  private static func serve(_ arguments: ArraySlice<String>) throws(CommandLineError) -> Command {
    try FlagParser(command: .serve, flags: Flag.all).parse(arguments, into: ServeOptions()) {
      options, operands throws(CommandLineError) in
      if let operand = operands.first {
        throw CommandLineError("unexpected argument \(quoted(operand)); a configuration is given by --config.file")
      }
      let hasFile = options.configFile != nil || options.webConfigFile != nil || options.probeConfigFile != nil
      if options.watchInterval != nil, !hasFile {
        throw CommandLineError(
          "--config.watch has no file to look at; give --config.file, --web.config.file or --probe.config.file")
      }
      return .serve(options)
    }
  }

  private static func schema(_ arguments: ArraySlice<String>) throws(CommandLineError) -> Command {
    try FlagParser<Void>(command: .schema, flags: []).parse(arguments, into: ()) {
      _, operands throws(CommandLineError) in
      if let operand = operands.first { throw CommandLineError("unexpected argument \(quoted(operand))") }
      return .schema
    }
  }

  /// Reads the arguments of a command without flags that takes one word of a type.
  private static func word<Word: RawRepresentable<String> & CaseIterable>(
    of topic: HelpTopic, _ arguments: ArraySlice<String>, _ command: (Word) -> Command
  ) throws(CommandLineError) -> Command {
    try FlagParser<Void>(command: topic, flags: []).parse(arguments, into: ()) {
      _, operands throws(CommandLineError) in
      guard operands.count == 1, let word = Word(rawValue: operands[0]) else {
        let words = Word.allCases.map(\.rawValue).joined(separator: ", ")
        throw CommandLineError("weir \(topic.rawValue) takes one of \(words)")
      }
      return command(word)
    }
  }

  private static func check(_ arguments: ArraySlice<String>) throws(CommandLineError) -> Command {
    try FlagParser(command: .check, flags: Flag.all).parse(arguments, into: CheckOptions()) {
      options, operands throws(CommandLineError) in
      options.file = operands.first
      let hasOtherFile = options.webConfigFile != nil || options.probeConfigFile != nil
      guard operands.count == 1 || operands.isEmpty && hasOtherFile else {
        throw CommandLineError("weir check takes one FILE")
      }
      if options.fetchesCredentials, options.file == nil {
        throw CommandLineError("--credentials needs the FILE whose credentials it fetches")
      }
      return .check(options)
    }
  }

  private static func probe(_ arguments: ArraySlice<String>) throws(CommandLineError) -> Command {
    try FlagParser(command: .probe, flags: Flag.all).parse(arguments, into: ProbeOptions(url: "")) {
      options, operands throws(CommandLineError) in
      guard operands.count == 1 else { throw CommandLineError("weir probe takes one URL") }
      options.url = operands[0]
      if let problem = options.problemOfModule { throw CommandLineError(problem) }
      if options.module != nil { return .probe(options) }
      let lower = options.url.lowercased()
      guard lower.hasPrefix("http://") || lower.hasPrefix("https://") else {
        throw CommandLineError("\(quoted(options.url)) is not a URL to probe; begin with http:// or https://")
      }
      if let port = portOutOfRange(options.url) {
        throw CommandLineError("port \(port) of \(quoted(options.url)) is not valid; ports are 1 to 65535")
      }
      return .probe(options)
    }
  }

  /// The digits after the authority's last colon, if they are not a valid port.
  private static func portOutOfRange(_ url: String) -> Substring? {
    let rest = url.drop { $0 != ":" }.dropFirst(3)
    let authority = rest.prefix { !"/?#".contains($0) }
    guard let colon = authority.lastIndex(of: ":") else { return nil }
    let port = authority[authority.index(after: colon)...]
    guard !port.isEmpty, port.utf8.allSatisfy(\.isDigit) else { return nil }
    return (1...65_535).contains(Int(port) ?? 0) ? nil : port
  }
}

/// Parses flags as `--name=value`, `--name value` or, without a value, `--name`, in any order and place; `--` ends them.
private struct FlagParser<Options> {
  let command: HelpTopic
  let flags: [Flag<Options>]

  /// Returns the command that `build` makes of the options and the operands, unless a flag asks for help or the
  /// version.
  func parse(
    _ arguments: ArraySlice<String>, into defaults: Options,
    _ build: (inout Options, _ operands: [String]) throws(CommandLineError) -> Command
  ) throws(CommandLineError) -> Command {
    var options = defaults
    var operands: [String] = []
    var given: Set<String> = []
    var rest = arguments
    while let argument = rest.popFirst() {
      if argument == "--" {
        operands += rest
        break
      }
      guard argument.hasPrefix("-"), argument != "-" else {
        operands.append(argument)
        continue
      }
      if argument == "--help" || argument == "-h" { return .help(command) }
      if argument == "--version" { return .version }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard let name = parts.first, let flag = flags.first(where: { $0.words.name == name }) else {
        throw unknown(parts.first ?? argument)
      }
      if !flag.words.isRepeatable, !given.insert(name).inserted { throw CommandLineError("\(name) is given twice") }
      let value: String
      if let placeholder = flag.words.value {
        guard let text = parts.count == 2 ? parts[1] : rest.popFirst() else {
          throw CommandLineError("\(name) needs a value: \(name)=\(placeholder)")
        }
        value = text
      } else {
        guard parts.count == 1 else { throw CommandLineError("\(name) takes no value; give \(name) alone") }
        value = ""
      }
      if let expected = flag.apply(&options, value) {
        throw CommandLineError("\(name): \(quoted(value)) won't do; give \(expected)")
      }
    }
    return try build(&options, operands)
  }

  private func unknown(_ name: String) -> CommandLineError {
    let names = flags.map(\.words.name) + ["--help", "--version"]
    let isFileOfCheck = command == .check && name == "--config.file"
    let hint =
      isFileOfCheck
      ? "give the file itself: weir check FILE" : suggestion(for: name, among: names).map { "did you mean \($0)?" }
    return CommandLineError(
      "unknown flag \(quoted(name)); \(hint ?? "weir \(command.rawValue) --help lists what there is")")
  }
}

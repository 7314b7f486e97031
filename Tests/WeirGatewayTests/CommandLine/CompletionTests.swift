import Foundation
import Testing
import WeirTestSupport

@testable import WeirGateway

@Suite struct CompletionTests {
  /// The line up to the cursor as bash splits it, and the proposals.
  @Test(
    arguments: [
      (["weir", ""], "check completion help manual probe schema serve version"),
      (["weir", "ch"], "check"),
      (["weir", "--web.l"], "--web.listen-address="),
      (["weir", "serve", "--log."], "--log.format= --log.level="),
      (["weir", "serve", "--log.level", "=", ""], "debug error info warn"),
      (["weir", "serve", "--log.level", "="], "debug error info warn"),
      (["weir", "serve", "--log.level", "=", "d"], "debug"),
      (["weir", "--log.level", "w"], "warn"),
      (["weir", "serve", "--log.format=j"], "--log.format=json"),
      (["weir", "serve", "--gateway.workers", "=", ""], ""),
      (["weir", "serve", "--web.enable-lifecycle", "--log.f"], "--log.format="),
      (["weir", "serve", "--config.file", "=", "one"], "one.yml"),
      (["weir", "serve", "--config.file", ""], "one.yml two words.yml"),
      (["weir", "serve", "x"], ""),
      (["weir", "check", "two"], "two words.yml"),
      (["weir", "check", "--probe"], "--probe.config.file="),
      (["weir", "probe", "--destination-policy", "=", "p"], "publicOnly"),
      (["weir", "completion", ""], "bash fish zsh"),
      (["weir", "manual", "weir."], "weir.1 weir.yml.5"),
      (["weir", "help", "ser"], "serve"),
      (["weir", "frobnicate", "x"], ""),
    ] as [([String], String)])
  func bashCompletes(words: [String], expected: String) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("weir-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    for name in ["one.yml", "two words.yml"] { try Data().write(to: folder.appendingPathComponent(name)) }
    let line = words.map(Shell.quoted).joined(separator: " ")
    let script =
      Shell.bash.completion + """
        COMP_WORDS=(\(line)) COMP_CWORD=\(words.count - 1)
        cd \(Shell.quoted(folder.path))
        _weir && printf '%s\\n' "${COMPREPLY[@]}" | LC_ALL=C sort
        """
    let proposals = try await Tool.shell.runToEnd(["-uo", "pipefail", "-c", script]).output
    #expect(proposals.split(separator: "\n").joined(separator: " ") == expected)
  }

  /// Neither shell is among the tools of the tests, so their scripts are compared with the table, and read by the shell
  /// where there is one.
  @Test(arguments: [Shell.zsh, .fish]) func namesEveryFlag(shell: Shell) async throws {
    for topic in HelpTopic.allCases {
      for flag in topic.allFlags {
        let line =
          switch shell {
          case .fish: "-l \(flag.name.dropFirst(2))"
          default: flag.name + (flag.value == nil ? "[" : "=[")
          }
        #expect(shell.completion.contains(line), "\(flag.name)")
      }
    }
    for command in HelpTopic.commands { #expect(shell.completion.contains(command.summary)) }
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/\(shell.rawValue)") else {
      print("not read by \(shell.rawValue), which is not here: its completions")
      return
    }
    let checked = try await Tool(named: shell.rawValue).runToEnd(["-n", "/dev/stdin"], input: shell.completion)
    #expect(checked.output == "")
  }

  @Test func zshKnowsValues() {
    let text = Shell.zsh.completion
    #expect(text.hasPrefix("#compdef weir\n"))
    for line in [
      "'--config.file=[Routes, as YAML. Default: a demo origin behind the gateway.]:FILE:_files'",
      "'--log.level=[One of debug, info, warn, error. Default: info.]:LEVEL:(debug info warn error)'",
      "'*--metrics.buckets=[Upper bounds of a histogram. May be given several times.]:NAME=0.1,0.5,1: '",
      "'1:FILE:_files'", "'1:PAGE:(weir.1 weir.yml.5)'",
    ] { #expect(text.contains(line), "\(line)") }
  }

  @Test func fishKnowsValues() {
    let text = Shell.fish.completion
    for line in [
      "complete -c weir -n '__fish_seen_subcommand_from probe' -l destination-policy -x -a 'any publicOnly' -d ",
      "complete -c weir -n '__fish_seen_subcommand_from check' -F\n",
      "complete -c weir -n __fish_use_subcommand -a check -d 'say what is wrong with a configuration'\n",
      "complete -c weir -n 'not __fish_seen_subcommand_from check probe completion manual schema help version' "
        + "-l config.file -r -F -d ",
    ] { #expect(text.contains(line), "\(line)") }
  }
}

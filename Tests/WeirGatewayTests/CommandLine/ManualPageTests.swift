import Foundation
import Testing
import WeirTestSupport

@testable import WeirGateway

@Suite struct ManualPageTests {
  @Test(
    arguments: [
      ("a `match.host`, or *Slow clients*", #"a \fBmatch.host\fR, or \fISlow clients\fR"#),
      ("said ([there](listeners.md#tls)), [up](upstreams.md)", #"said (\fIlisteners.md#tls\fR), \fIupstreams.md\fR"#),
      (#"`a\b-c` isn't "~^`"#, #"\fBa\eb\-c\fR isn\(aqt \(dq\(ti\(ha\(ga"#),
      ("`1` ÷ 2 …", #"\fB1\fR \[u00F7] 2 ..."#),
      (".TH x", #"\&.TH x"#), ("`a`.", #"\fBa\fR."#), ("10 [1] * `", #"10 [1] * \(ga"#),
    ])
  func makesRoff(markdown: String, expected: String) {
    #expect(Roff.markdown(markdown) == expected)
  }

  @Test func theProgramsPageNamesEveryFlag() {
    let text = ManualPage.program.text
    for topic in HelpTopic.allCases {
      for flag in topic.flags {
        #expect(text.contains("\n.TP\n\(Roff.bold(flag.name))"), "\(flag.name)")
        #expect(text.contains("\n\(Roff.escaped(flag.help))\n"), "\(flag.name)")
      }
    }
    for command in HelpTopic.commands { #expect(text.contains("\n.TP\n\(Roff.bold(command.name))\n")) }
  }

  @Test func theConfigurationsPageNamesEveryKey() {
    let text = ManualPage.configuration.text
    for key in KeyTable.all.flatMap(\.rows) {
      #expect(text.contains("\n.TP\n\(Roff.bold(key.name))\n("), "\(key.name)")
    }
    let trace = #"""
      .TP
      \fBtrace\fR
      (mapping or \fBoff\fR; default: none; \fB{}\fR where traces are exported)
      .br
      beside \fBroutes\fR: whether traces are continued (\fIlogs.md#traces\-and\-request\-identifiers\fR);
      """#
    #expect(text.contains("\(trace) \\fB{}\\fR for the defaults\n.TP\n"))
  }

  @Test(arguments: ManualPage.allCases) func hasOnlyPrintableASCII(page: ManualPage) {
    #expect(page.text.unicodeScalars.allSatisfy { $0 == "\n" || (0x20...0x7e).contains($0.value) })
  }

  /// groff comes with man-db; a package's check by lintian does the same.
  @Test(
    arguments: ManualPage.allCases, [["groff", "-man", "-ww", "-Tutf8"], ["mandoc", "-T", "lint", "-W", "error"]])
  func isReadWithoutWarning(page: ManualPage, by command: [String]) async throws {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/\(command[0])") else {
      print("not read by \(command[0]), which is not here: \(page.rawValue)")
      return
    }
    let line = command.joined(separator: " ") + " >/dev/null"
    let complaints = try await Tool.shell.runToEnd(["-c", line], input: page.text).output
    #expect(complaints == "")
  }
}

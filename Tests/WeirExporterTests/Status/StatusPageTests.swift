import Testing
import Weir
import WeirTestSupport

@testable import WeirExporter

@Suite struct StatusPageTests {
  private func text(_ report: StatusReport) -> String { String(decoding: StatusPage.html(report), as: UTF8.self) }

  /// The text between two others, without style and script.
  private func main(_ report: StatusReport) throws -> Substring {
    try #require(text(report).split(separator: "<main>").last?.split(separator: "</main>").first)
  }

  @Test func saysInOneLineThatNothingIsWrong() throws {
    let page = try main(StatusSamples.calm)
    #expect(page.contains("<p class=\"calm\"><span class=\"m good\">Nothing is wrong.</span></p>"))
    #expect(!page.contains("class=\"problems\""))
    #expect(text(StatusSamples.calm).contains("<title>Shop gateway</title>"))
  }

  @Test func saysWhatIsWrongFirst() throws {
    let page = try main(StatusSamples.troubled)
    let problem = try #require(page.range(of: "31 % of requests want a retry, all for 503 from 10.0.0.7"))
    let first = try #require(page.range(of: "<dl>"))
    #expect(problem.lowerBound < first.lowerBound)
    #expect(page.contains("<b>payments:</b> <span>31 %"))
    #expect(page.contains("the last reload failed"))
    #expect(text(StatusSamples.troubled).contains("<title>4 problems · Shop gateway</title>"))
  }

  @Test func listsAreOpenWhenSomethingIsWrong() throws {
    #expect(try main(StatusSamples.troubled).contains("<details id=\"failures\" open>"))
    var report = StatusSamples.troubled
    report.problems = []
    #expect(try main(report).contains("<details id=\"failures\">"))
  }

  @Test func anEmptyReportIsAPage() throws {
    let page = try main(StatusSamples.empty)
    #expect(page.contains("Nothing is wrong."))
    #expect(!page.contains("<h2>Routes") && !page.contains("<h2>Upstreams") && !page.contains("<h2>Listeners"))
    #expect(!page.contains("<h2>Credentials"))
    #expect(text(StatusSamples.empty).hasSuffix("</html>\n"))
  }

  @Test func credentialsInTroubleAreFirst() throws {
    let page = try main(StatusSamples.troubled)
    #expect(
      page.contains(
        """
        <tbody>
        <tr><th scope="row">legacy<td class="m bad">missing<td>–<td>7<td>the token service answers 401: invalid_client\
        <tr><th scope="row">search<td class="m warning">failing<td>42 s<td>0<td>the token service does not answer\
        <tr><th scope="row">maps<td class="m good">good<td>–<td>0<td>\
        <tr><th scope="row">payments<td class="m good">good<td>49 min<td>0<td>\
        <tr><th scope="row">webhooks<td class="m quiet">missing<td>–<td>0<td></tbody>
        """))
  }

  /// Its upstream may be well, though it has the same name.
  @Test func aProblemOfACredentialMarksNoUpstream() {
    let problems = [
      StatusProblem(.credential, .bad, "payments", "there is no token"), StatusProblem(.limit, .warning, "web", ""),
    ]
    #expect(StatusMark.worst(problems) == ["web": .warning])
  }

  @Test func aServiceWithoutRoutesShowsItsUpstreams() throws {
    var report = StatusSamples.calm
    report.routes = []
    report.configuration = nil
    report.upstreams[0].traffic.last10s.requests = 300
    report.upstreams[1].traffic.last10s.requests = 120
    let page = try main(report)
    #expect(page.contains("<dt>requests per second<dd>42</div>"))
    #expect(!page.contains("<h2>Routes") && !page.contains("configuration"))
    // There is room for both, so both are unfolded.
    #expect(page.matches(of: /<details class="row" id="u[01]" open>/).count == 2)
  }

  @Test(arguments: [
    "<script>alert(1)</script>", "\" onload=\"alert(1)", "' x='", "&lt;", "</title><b>", "--><img src=x>",
  ])
  func textIsOnlyText(hostile: String) throws {
    var report = StatusSamples.huge(hostile)
    report.title = hostile
    report.version = hostile
    report.configuration?.file = hostile
    let page = text(report)
    #expect(!page.contains(hostile))
    var escaped = ""
    for character in hostile {
      escaped += ["<": "&lt;", ">": "&gt;", "&": "&amp;", "\"": "&quot;", "'": "&#39;"][character] ?? "\(character)"
    }
    #expect(page.contains(escaped))
    #expect(page.split(separator: "<script>").count == 2)
  }

  @Test func controlCharactersAreReplaced() {
    var report = StatusSamples.empty
    report.title = "a\u{0}b\u{1B}c\u{7F}\nd"
    #expect(text(report).contains("<h1>a\u{FFFD}b\u{FFFD}c\u{FFFD}\u{FFFD}d</h1>"))
  }

  @Test(arguments: [
    "", "-with-a-name-that-is-as-long-as-names-in-large-companies-become-over-the-years", "''''\"\"\"\"<<<<>>>>&&&&",
    String(repeating: "'", count: 2000), String(repeating: "🙂", count: 300),
  ])
  func theLargestReportIsAPageOf100KB(text: String) throws {
    let report = StatusSamples.huge(text)
    let page = StatusPage.html(report)
    #expect(page.count <= StatusPage.mostBytes)
    let shown = String(decoding: page, as: UTF8.self)
    #expect(shown.hasSuffix("</html>\n"))
    #expect(shown.contains("<details class=\"row\""))
    #expect(shown.contains("are not shown; status.json has all of them.") || text.isEmpty)
  }

  @Test func theWorstAreShownInFull() throws {
    let page = try main(StatusSamples.huge())
    let full = page.split(separator: "<details class=\"row\"").dropFirst()
    #expect(full.count >= 6, "\(full.count)")
    #expect(full.prefix(3).allSatisfy { $0.contains("m bad") })
    #expect(page.matches(of: /<details class="row" id="[ru][0-9]+" open>/).count == 3)
    #expect(page.contains("more routes, in short, "))
  }

  /// Attempts and retries are counted by upstream, which routes may share.
  @Test func routesHaveNoFiguresOfAttempts() throws {
    let rows = try main(StatusSamples.calm).split(separator: "<h2>")
    let routes = try #require(rows.first { $0.hasPrefix("Routes") })
    let upstreams = try #require(rows.first { $0.hasPrefix("Upstreams") })
    for text in ["attempts per request", "retry demand per request", "retry demand</span>", "Retry demand"] {
      #expect(!routes.contains(text) && upstreams.contains(text), "\(text)")
    }
    let huge = try main(StatusSamples.huge()).split(separator: "<h2>")
    for list in huge where list.hasPrefix("Routes") || list.hasPrefix("Upstreams") {
      let table = try #require(list.split(separator: "<table class=\"short\">").last)
      #expect(table.contains("<th scope=\"col\">Retry demand") == list.hasPrefix("Upstreams"))
    }
    // Their other figures stand below each other.
    let figures = try main(StatusSamples.calm).split(separator: "<summary>").dropFirst()
    #expect(figures.filter { $0.contains("req/s") }.allSatisfy { $0.matches(of: /<span class="q">/).count == 5 })
  }

  @Test func numbersThatAreNoneAreDashes() throws {
    var report = StatusSamples.troubled
    for value in [Double.nan, .infinity, -.infinity, -1, 1e300] {
      report.now = value
      report.credentials[0].expiresIn = value
      report.upstreams[0].budget = value
      report.upstreams[0].traffic.last10s.p99 = value
      report.upstreams[0].traffic.last10s.seconds = value
      report.upstreams[0].traffic.last10s.retryDemand = value
      report.upstreams[0].traffic.history.p99[7] = value
      report.upstreams[0].endpoints[0].share10s = value
      report.upstreams[0].endpoints[0].ewma = value
      let page = try main(report)
      #expect(!page.contains("nan") && !page.contains("inf ") && !page.contains(">inf"))
    }
  }

  @Test(arguments: [
    (0.0, "0"), (0.001, "< 0.01"), (0.1, "0.1"), (1.236, "1.24"), (9.999, "10"), (12.34, "12.3"), (123.4, "123"),
    (12_340, "12.3 k"), (1_234_000, "1.2 M"), (-1.5, "−1.5"), (.nan, "–"), (.infinity, "–"), (1e300, "–"),
  ])
  func numbers(value: Double, text: String) {
    #expect(StatusFigures.number(value) == text)
  }

  @Test(arguments: [
    (0.0, "0 %"), (0.0001, "< 0.1 %"), (0.0213, "2.1 %"), (0.5, "50 %"), (0.9999, "> 99 %"), (1, "100 %"), (.nan, "–"),
  ])
  func percents(share: Double, text: String) {
    #expect(StatusFigures.percent(share) == text)
  }

  @Test func chartsHaveStepsAndGaps() {
    let area = StatusChart(title: "A <b>", values: [0, 1, 1, 2, 0], bad: [0, 0, 0, 1, 0]) { "\(Int($0))" }
    #expect(
      String(decoding: area.sparkline.bytes, as: UTF8.self) == """
        <svg viewBox="0 0 5 40" preserveAspectRatio="none" role="img" aria-label="A &lt;b&gt;, last 5 minutes: peak 2">\
        <path class="a" d="M0 40h1V20h2V1h1V40h1V40z"/><path class="b" d="M0 40h3V20h1V40h1V40z"/></svg>
        """)
    let line = StatusChart(title: "p99", values: [nil, 1, nil, .nan, 2, 2], isLine: true) { "\(Int($0))" }
    #expect(String(decoding: line.sparkline.bytes, as: UTF8.self).contains("d=\"M1 20h1M4 1h2\""))
    let none = StatusChart(title: "none", values: [0, nil, 0]) { "\($0)" }
    #expect(!String(decoding: none.figure.bytes, as: UTF8.self).contains("<path"))
  }

  @Test func thePolicyNamesStyleAndScript() throws {
    let page = text(StatusSamples.calm)
    for name in ["style", "script"] {
      let rest = try #require(page.split(separator: "<\(name)>").dropFirst().first)
      let content = try #require(rest.split(separator: "</\(name)>").first)
      #expect(StatusPage.securityPolicy.contains("\(name)-src 'sha256-\(SHA256.base64(of: Array(content.utf8)))'"))
    }
    #expect(StatusPage.securityPolicy.hasPrefix("default-src 'none'; "))
    #expect(!page.contains(" style=") && !page.contains("onclick"))
  }
}

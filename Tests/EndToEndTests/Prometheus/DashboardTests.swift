import Foundation
import Testing
import WeirTestSupport

/// How the dashboards are made. What they show is in DashboardQueryTests.
@Suite struct DashboardTests {
  /// Rows that stay empty where what they show isn't in use; and one that is looked at once a year.
  private static let collapsed: [String: Set<String>] = [
    "weir-client": ["Circuits, hedges", "Adapters, stored responses", "The metrics page"],
    "weir-destination": [
      "Pace", "Circuit, hedges", "Adapters", "Bodies, protocols, redirects", "Against a day ago",
      "The job's routes, if it is a gateway",
    ],
    "weir-gateway": ["Endpoints", "Listeners", "Limits on requests", "Credentials", "The metrics page"],
  ]

  /// What alerts and other boards lead there with, and what all boards have.
  private static let variables: [String: [String]] = [
    "weir-client": ["datasource", "job", "instance", "destination", "runbook_base"],
    "weir-destination": ["datasource", "job", "instance", "destination", "port", "operation", "runbook_base"],
    "weir-gateway": ["datasource", "job", "instance", "route", "upstream", "runbook_base"],
  ]

  @Test func allFilesAreLookedAt() throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: "\(PackageRoot.path)/dashboards")
    #expect(files.sorted() == Board.uids.map { "\($0).json" })
  }

  @Test(.needs(.python), arguments: Board.uids) func aFileIsIndentedByTwo(uid: String) async throws {
    let program = """
      import json, sys
      text = open(sys.argv[1], encoding="utf-8").read()
      sys.exit(text != json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\\n")
      """
    try await Tool.python.run(["-c", program, "\(PackageRoot.path)/dashboards/\(uid).json"])
  }

  // MARK: Structure

  @Test(arguments: Board.uids) func idsAreUnique(uid: String) throws {
    let board = try Board(uid)
    #expect(board.uid == uid)
    let ids = board.everything.map(\.id)
    #expect(ids.count > 30 && Set(ids).count == ids.count && ids.allSatisfy { $0 > 0 })
    for panel in board.content {
      let references = panel.targets?.map(\.refId) ?? []
      #expect(!references.isEmpty && Set(references).count == references.count, "\(panel.title)")
    }
    // A number on top has the title of the graph below that shows its past.
    let titles = board.content.filter { $0.type != "stat" }.map(\.title)
    #expect(Set(titles).count == titles.count)
  }

  @Test(arguments: Board.uids) func panelsLieBesideEachOther(uid: String) throws {
    let board = try Board(uid)
    for panels in [board.panels] + board.panels.compactMap(\.panels) {
      for (index, panel) in panels.enumerated() {
        let place = panel.gridPos
        #expect(place.x >= 0 && place.y >= 0 && place.w > 0 && place.h > 0 && place.x + place.w <= 24, "\(panel.title)")
        for other in panels[..<index] {
          #expect(!place.overlaps(other.gridPos), "\(panel.title) lies over \(other.title)")
        }
      }
    }
    for row in board.panels.filter(\.isRow) {
      #expect(row.gridPos.w == 24 && row.gridPos.h == 1 && row.collapsed != nil, "\(row.title)")
      #expect((row.panels ?? []).allSatisfy { $0.gridPos.y > row.gridPos.y }, "\(row.title)")
      #expect((row.panels ?? []).isEmpty == (row.collapsed == false), "\(row.title)")
    }
  }

  @Test(arguments: Board.uids) func numbersStandOnTop(uid: String) throws {
    let top = try Board(uid).panels.filter { $0.gridPos.y == 0 }
    #expect(top.allSatisfy { $0.type == "stat" } && top.map(\.gridPos.w).reduce(0, +) == 24)
    #expect(top.first?.title == "Firing alerts")
  }

  @Test(arguments: Board.uids) func rowsThatMayStayEmptyAreCollapsed(uid: String) throws {
    let board = try Board(uid)
    #expect(board.collapsedRows == Self.collapsed[uid])
  }

  @Test(arguments: Board.uids) func everythingAsksTheDataSourceThatWasChosen(uid: String) throws {
    let chosen = Board.Source(type: "prometheus", uid: "${datasource}")
    let board = try Board(uid)
    for panel in board.content {
      #expect(panel.datasource == chosen, "\(panel.title)")
      #expect(panel.targets?.allSatisfy { $0.datasource == chosen } == true, "\(panel.title)")
    }
    #expect(board.variables.filter { $0.type == "query" }.allSatisfy { $0.datasource == chosen })
    #expect(!board.annotations.list.isEmpty && board.annotations.list.allSatisfy { $0.datasource == chosen })
  }

  @Test(arguments: Board.uids) func panelsSayWhatTheyShow(uid: String) throws {
    for panel in try Board(uid).content {
      let description = panel.description ?? ""
      #expect((6...220).contains(description.count) && description.hasSuffix("."), "\(panel.title): \(description)")
      let defaults = panel.fieldConfig?.defaults
      #expect(defaults?.unit?.isEmpty == false, "\(panel.title) has no unit")
      #expect(defaults?.decimals != nil || panel.valueColumns == [], "\(panel.title) has as many decimals as come")
      for column in panel.valueColumns ?? [] {
        let overrides = (panel.fieldConfig?.overrides ?? []).filter { $0.matcher.options == column }
        let properties = overrides.flatMap(\.properties).map(\.id)
        #expect(properties.contains("unit") && properties.contains("decimals"), "\(panel.title): \(column)")
      }
    }
  }

  // MARK: Variables

  /// `$name`, `${name}` and `${name:format}`; what Grafana sets itself is not among them.
  private static func variables(in text: String) -> Set<String> {
    Set(text.matches(of: /\$\{?([a-z]\w*)/).map { String($0.1) })
  }

  @Test(arguments: Board.uids) func variablesAreThereAndAreUsed(uid: String) throws {
    let names = try Board(uid).variables.map(\.name)
    #expect(names == Self.variables[uid])
    let used = Set(try Board.json(of: uid).strings.flatMap(Self.variables))
    #expect(used == Set(names))
  }

  /// One that allows several values is a regular expression. All jobs are those that were found, since every process has series
  /// such as `up`; all else is then of these jobs.
  @Test(arguments: Board.uids) func variablesAreComparedAsTheyAreMeant(uid: String) throws {
    let board = try Board(uid)
    let texts = try Board.json(of: uid).strings
    for variable in board.variables where variable.type == "query" {
      let isAnything = variable.multi == true && variable.name != "job"
      #expect(variable.allValue == (isAnything ? ".*" : nil), "\(variable.name)")
      let wrong = variable.multi == true ? "=\"$\(variable.name)\"" : "=~\"$\(variable.name)\""
      #expect(!texts.contains { $0.contains(wrong) }, "\(wrong)")
    }
  }

  // MARK: Links

  /// The names of variables that a URL sets.
  private static func variablesSet(by url: String) -> Set<String> {
    Set(url.matches(of: /(?:var-(\w+)=|\$\{(\w+):queryparam\})/).compactMap { ($0.1 ?? $0.2).map(String.init) })
  }

  private static func expectBoard(at url: String) throws {
    let path = try #require(url.firstMatch(of: /\/d\/([\w-]+)\?/), "\(url) leads to no board")
    let variables = try #require(variables[String(path.1)], "\(url) leads to no board")
    let set = variablesSet(by: url)
    #expect(set.contains("job") && set.isSubset(of: variables), "\(url)")
  }

  @Test(arguments: Board.uids) func linksLeadSomewhere(uid: String) throws {
    let runbooks = try PackageRoot.text(of: "docs/runbooks.md")
    let headings = runbooks.split(separator: "\n").filter { $0.hasPrefix("## ") }.map { $0.dropFirst(3) }
    let anchors = headings.map { $0.lowercased().replacing(" ", with: "-") }
    let urls = try Board.json(of: uid).strings(named: "url")
    #expect(urls.count > 20)
    for url in urls where url != "${runbook_base}" {
      if url.hasPrefix("${runbook_base}#") {
        let anchor = String(url.split(separator: "#").last ?? "")
        #expect(anchors.contains(anchor), "docs/runbooks.md has no #\(anchor)")
      } else {
        #expect(url.hasPrefix("/d/"))
        try Self.expectBoard(at: url)
        #expect(Self.variablesSet(by: url).contains("datasource"), "\(url)")
      }
    }
  }

  @Test(arguments: Board.uids) func boardsLeadToEachOther(uid: String) throws {
    let links = try Board(uid).links
    for other in Board.uids where other != uid {
      let link = try #require(links.first { $0.url.hasPrefix("/d/\(other)?") }, "\(other)")
      #expect(link.keepTime)
      #expect(Self.variablesSet(by: link.url) == ["datasource", "job", "instance"])
    }
    #expect(links.contains { $0.url == "${runbook_base}" })
  }

  @Test func tablesLeadFromADestinationToItsBoard() throws {
    let tables = try Board("weir-client").content.filter { $0.type == "table" && $0.title == "Destinations" }
    #expect(tables.first?.linkedLabels == ["job", "server_address", "server_port"])
  }

  @Test func alertsLeadToBoards() throws {
    let alerts = try PackageRoot.text(of: "deploy/prometheus/rules/alerts.yml")
    let urls = alerts.split(separator: "\n").filter { $0.contains("/d/") }.map(String.init)
    #expect(urls.count >= 6)
    for url in urls { try Self.expectBoard(at: url) }
  }

  @Test(arguments: Board.uids) func runbooksAreWhereTheSampleSaysThatTheyAre(uid: String) throws {
    let constant = try Board(uid).variables.first { $0.name == "runbook_base" }?.query.text
    let sample = try PackageRoot.text(of: "deploy/prometheus/prometheus.yml")
    #expect(constant.map { sample.contains("runbook_base: \($0)\n") } == true)
  }

  // MARK: Queries

  @Test(arguments: Board.uids) func queriesReadWhatThereIs(uid: String) throws {
    let known = try KnownMetrics()
    let board = try Board(uid)
    for panel in board.content {
      for target in panel.targets ?? [] {
        #expect(known.problems(in: target.expr) == [], "\(panel.title): \(target.expr)")
      }
    }
    for annotation in board.annotations.list { #expect(known.problems(in: annotation.expr) == []) }
  }

  @Test(arguments: [
    ("sum by (outcome) (rate(weir_requests_total{job=~\"a,b{\", outcome!=\"c\"}[5m])) > 0 or vector(1)", 0),
    ("job:weir_retry_demand:ratio_rate2m{job=\"a\"} offset 1d / on (job) group_left () up", 0),
    ("rate(weir_request_duration_seconds_bucket{outcome=\"success\"}[5m])", 1),
    ("sum by (reason) (weir_no_such_metric{job=\"a\"} / up)", 2),
    ("sum by (le) (rate(weir_requests_total[5m]))", 1),
    ("1", 1),
  ])
  func mistakesInQueriesAreSeen(expression: String, count: Int) throws {
    #expect(try KnownMetrics().problems(in: expression).count == count)
  }

  /// Rules add up the instances of a job: the variable `instance` has no say there.
  @Test(arguments: Board.uids) func whatIsOfAllInstancesSaysSo(uid: String) throws {
    for panel in try Board(uid).content {
      let metrics = (panel.targets ?? []).flatMap { Selector.all(in: $0.expr).selectors }.map(\.metric)
      guard metrics.contains(where: { $0.hasPrefix("job") && $0.contains(":") }) else { continue }
      #expect(panel.description?.contains("ll instances.") == true, "\(panel.title)")
    }
  }

  @Test(arguments: Board.uids) func linesAreFewAndNamed(uid: String) throws {
    for panel in try Board(uid).content where panel.type == "timeseries" {
      for target in panel.targets ?? [] {
        let legend = try #require(target.legendFormat, "\(panel.title)")
        let many = [
          "{{server_address}}", "{{instance}}", "{{http_route}}", "{{route}}", "{{upstream}}", "{{endpoint}}",
        ]
        let isBounded = target.expr.contains("topk(10, ") || target.expr.contains("bottomk(10, ")
        #expect(!many.contains(where: legend.contains) || isBounded, "\(panel.title): \(legend)")
        #expect(
          !legend.contains("{{server_address}}") || legend.contains("{{server_address}}:{{server_port}}"),
          "\(panel.title): \(legend)")
      }
    }
  }
}

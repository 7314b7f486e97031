/// All that is known of a route or an upstream, below its row.
enum StatusDetails {
  static func of(_ route: StatusReport.Route) -> HTML {
    """
    \(HTML.when(!route.upstream.isEmpty, "<dl class=\"facts\">\(fact("Leads to", route.upstream))</dl>\n"))\
    \(traffic(route.traffic, hasAttempts: false))
    """
  }

  static func of(_ upstream: StatusReport.Upstream) -> HTML {
    let limit = upstream.limit.map { limit in "\(limit)\(upstream.used.map { ", \($0) used" } ?? "")" }
    return """
      <dl class="facts">\(fact("In flight", "\(upstream.inFlight)"))\(fact("Waiting", "\(upstream.waiting)"))\
      \(fact("Circuit", upstream.circuit.map(words)))\
      \(fact("Retry budget left", upstream.budget.map { StatusFigures.number($0) }))\
      \(fact("Load control", upstream.loadControl.map(words)))\(fact("Limit of attempts", limit))\
      \(fact("Paused for", upstream.pausedFor.map(StatusFigures.seconds)))</dl>
      \(traffic(upstream.traffic, hasAttempts: true))\(operations(upstream.operations))\(endpoints(upstream.endpoints))
      """
  }

  private static func words(_ label: String) -> String {
    String(label.map { $0 == "_" ? " " : $0 })
  }

  private static func fact(_ name: String, _ value: String?) -> HTML {
    guard let value else { return HTML() }
    return "<div><dt>\(name)<dd>\(value, most: 80)</div>"
  }

  // MARK: Traffic

  /// - Parameter hasAttempts: Whether attempts and retries are counted, which they are by upstream: a route shares
  ///   its upstreams with others.
  private static func traffic(_ traffic: StatusReport.Traffic, hasAttempts: Bool) -> HTML {
    """
    <div class="charts">\(HTML.each(traffic.history.charts(hasAttempts: hasAttempts), \.figure))</div>
    <div class="pair">
    \(figures(traffic.last10s, traffic.last5m, hasAttempts))\(phases(traffic.last10s, traffic.last5m))</div>

    """
  }

  private static func figures(
    _ short: StatusReport.Window, _ long: StatusReport.Window, _ hasAttempts: Bool
  ) -> HTML {
    func row(_ name: String, _ value: (StatusReport.Window) -> String) -> HTML {
      "<tr><th scope=\"row\">\(name)<td>\(value(short))<td>\(value(long))"
    }
    func row(_ name: String, unlessZero count: KeyPath<StatusReport.Window, Int>) -> HTML {
      HTML.when(long[keyPath: count] > 0 || short[keyPath: count] > 0, row(name) { "\($0[keyPath: count])" })
    }
    let rows: HTML = """
      \(row("per second", StatusFigures.rate))\
      \(row("failed") { $0.failed == 0 ? "0" : "\($0.failed) (\(StatusFigures.failed($0)))" })\
      \(named(short.outcomes, long.outcomes) { "… \($0)" })\
      \(HTML.when(hasAttempts, row("attempts per request", StatusFigures.attempts)))\
      \(HTML.when(hasAttempts, row("retry demand per request") { StatusFigures.number($0.retryDemand) }))\
      \(named(short.retries, long.retries) { "retries for \($0)" })\
      \(row("retries denied", unlessZero: \.denied))\
      \(row("attempts answered with 429", unlessZero: \.limited))\
      \(row("refused by load control", unlessZero: \.shedByLoadControl))\
      \(row("refused by the pace", unlessZero: \.paced))\
      \(row("left by their callers", unlessZero: \.abandoned))\
      \(row("p50") { StatusFigures.seconds($0.p50) })\
      \(row("p99") { StatusFigures.seconds($0.p99) })
      """
    return HTML.table("figures", ["Requests", "10\u{A0}s", "5\u{A0}min"], rows)
  }

  /// A row for each of the most frequent names.
  private static func named(
    _ short: [StatusReport.Named], _ long: [StatusReport.Named], _ title: (String) -> String
  ) -> HTML {
    HTML.each(long.prefix(6)) { each in
      let recent = short.first { $0.name == each.name }?.count ?? 0
      return "<tr><th scope=\"row\">\(title(each.name), most: 40)<td>\(recent)<td>\(each.count)"
    }
  }

  /// The phases of the longer window, with those of the shorter one where they were seen in it too.
  private static func phases(_ short: StatusReport.Window, _ long: StatusReport.Window) -> HTML {
    guard !long.phases.isEmpty else { return HTML() }
    let rows = HTML.each(long.phases.prefix(12)) { phase in
      let recent = short.phases.first { $0.name == phase.name }
      return """
        <tr><th scope="row">\(words(phase.name), most: 24)<td>\(StatusFigures.seconds(recent?.p50))\
        <td>\(StatusFigures.seconds(recent?.p99))<td>\(StatusFigures.seconds(phase.p50))\
        <td>\(StatusFigures.seconds(phase.p99))
        """
    }
    let columns = ["p50 10\u{A0}s", "p99 10\u{A0}s", "p50 5\u{A0}min", "p99 5\u{A0}min"]
    return HTML.table("phases", ["Phases of attempts"] + columns, rows)
  }

  // MARK: Operations

  private static let roomOfOperations = 3000

  private static func operations(_ operations: [StatusReport.Operation]) -> HTML {
    guard !operations.isEmpty else { return HTML() }
    let (rows, left) = HTML.each(operations, within: roomOfOperations) { operation in
      let (now, before) = (operation.last10s, operation.last5m)
      return """
        <tr><th scope="row" class="c">\(operation.name, most: 64)<td>\(StatusFigures.rate(now))\
        <td>\(now.failed)<td>\(before.failed)\
        <td>\(StatusFigures.seconds(now.p50))<td>\(StatusFigures.seconds(now.p99))<td>\(StatusFigures.seconds(before.p99))
        """
    }
    let columns = [
      "Operation", "Requests/s", "Failed 10\u{A0}s", "Failed 5\u{A0}min", "p50 10\u{A0}s", "p99 10\u{A0}s",
      "p99 5\u{A0}min",
    ]
    return "\(HTML.table("fold operations", columns, rows))\(StatusPage.more(left, "operations"))"
  }

  // MARK: Endpoints

  private static let roomOfEndpoints = 5000

  private static func endpoints(_ endpoints: [StatusReport.Endpoint]) -> HTML {
    guard !endpoints.isEmpty else { return HTML() }
    let marked = endpoints.map { (endpoint: $0, mark: StatusMark($0)) }
    let troubled = marked.filter { $0.mark.level <= .warning } + marked.filter { $0.mark.level > .warning }
    let (rows, left) = HTML.each(troubled, within: roomOfEndpoints) { row($0.endpoint, $0.mark) }
    let columns = [
      "Endpoint", "State", "Share 10\u{A0}s", "Share 5\u{A0}min", "Failed 10\u{A0}s", "Failed 5\u{A0}min", "First byte",
      "In flight", "Last failure",
    ]
    return "\(HTML.table("fold endpoints", columns, rows))\(StatusPage.more(left, "endpoints"))"
  }

  private static func row(_ endpoint: StatusReport.Endpoint, _ mark: StatusMark) -> HTML {
    """
    <tr><th scope="row" class="c">\(endpoint.address, most: 64)\(mark.cell)\
    <td>\(StatusFigures.percent(endpoint.share10s))<td>\(StatusFigures.percent(endpoint.share5m))\
    <td>\(endpoint.failures10s)<td>\(endpoint.failures5m)<td>\(StatusFigures.seconds(endpoint.ewma))\
    <td>\(endpoint.inFlight)<td>\(endpoint.lastFailure.map(StatusPage.short) ?? HTML())
    """
  }
}

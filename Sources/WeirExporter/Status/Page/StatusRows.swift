/// The routes and upstreams of a page: those that are bad or busy in full, as many as there is room for, and the others in
/// short.
struct StatusRows {
  private struct Row {
    let id: String
    let mark: StatusMark
    let requests: Int
    let short: HTML
    let full: (_ isOpen: Bool) -> HTML
  }

  /// At most so many rows that are bad are shown with all their figures at once, so that the page stays short.
  private static let mostOpen = 3
  /// The part of the room that short rows may take of each list.
  private static let roomOfShort = 15_000
  /// The frame of both lists: headings, tables, and lines that say what is left out.
  private static let roomOfFrame = 2500

  private let routes: [Row]
  private let upstreams: [Row]
  /// The full rows' markup, by their ids.
  private var full: [String: HTML] = [:]

  init(_ report: StatusReport, room: Int) {
    let problems = StatusMark.worst(report.problems)
    routes = report.routes.enumerated().map { index, route in
      let mark = StatusMark(route, problems: problems)
      return Self.row("r\(index)", route.name, mark, route.traffic, hasAttempts: false) { StatusDetails.of(route) }
    }
    upstreams = report.upstreams.enumerated().map { index, upstream in
      let mark = StatusMark(upstream, problems: problems)
      return Self.row("u\(index)", upstream.name, mark, upstream.traffic, hasAttempts: true) {
        StatusDetails.of(upstream)
      }
    }
    let short = [routes, upstreams].reduce(0) { sum, rows in
      sum + min(Self.roomOfShort, rows.reduce(0) { $0 + $1.short.count })
    }
    choose(room: room - short - Self.roomOfFrame)
  }

  /// Chooses by need: the worst first, among equals the busiest.
  private mutating func choose(room: Int) {
    let rows = routes + upstreams
    let order = rows.indices.sorted {
      (rows[$0].mark.level, rows[$1].requests) < (rows[$1].mark.level, rows[$0].requests)
    }
    var (room, open) = (room, rows.count <= 2 ? rows.count : Self.mostOpen)
    for index in order {
      let row = rows[index]
      let isOpen = open > 0 && (row.mark.level == .bad || rows.count <= 2)
      let markup = row.full(isOpen)
      guard markup.count <= room else { return }
      room -= markup.count
      if isOpen { open -= 1 }
      full[row.id] = markup
    }
  }

  var html: HTML {
    "\(list("Routes", "routes", routes, hasAttempts: false))\(list("Upstreams", "upstreams", upstreams, hasAttempts: true))"
  }

  private func list(_ title: String, _ what: String, _ rows: [Row], hasAttempts: Bool) -> HTML {
    guard !rows.isEmpty else { return HTML() }
    let ordered = Self.ordered(rows)
    let shown = ordered.filter { full[$0.id] != nil }
    let others = ordered.filter { full[$0.id] == nil }
    let (short, left) = HTML.each(others, within: Self.roomOfShort, \.short)
    let bad = others.count { $0.mark.level == .bad }
    let label: HTML = """
      \(others.count)\(HTML.when(!shown.isEmpty, " more")) \(what), in short\
      \(HTML.when(bad > 0, ", \(bad) of them bad"))
      """
    return """
      <section>
      <h2>\(title) <small>\(rows.count) · numbers 10\u{A0}s, charts 5\u{A0}min</small></h2>
      \(HTML.each(shown) { full[$0.id] ?? HTML() })\
      \(HTML.when(!others.isEmpty, table(id: "more-\(what)", label: label, hasAttempts, short, StatusPage.more(left, what))))</section>

      """
  }

  private func table(id: String, label: HTML, _ hasAttempts: Bool, _ rows: HTML, _ more: HTML) -> HTML {
    let columns = ["Name", "State", "Req/s", "Failed", hasAttempts ? "Retry demand" : "", "p50", "p99"]
    return """
      <details id="\(id)"\(HTML.when(full.isEmpty, " open"))>
      <summary>\(label)</summary>
      \(HTML.table("short", columns, rows))\(more)</details>

      """
  }

  /// In the order of the configuration, behind those that are in trouble.
  private static func ordered(_ rows: [Row]) -> [Row] {
    rows.filter { $0.mark.level == .bad } + rows.filter { $0.mark.level == .warning }
      + rows.filter { $0.mark.level > .warning }
  }

  // MARK: One row

  /// - Parameter hasAttempts: Whether attempts and retries are counted, which they are by upstream. Without them their
  ///   column is empty, so that those of routes and upstreams are in line.
  private static func row(
    _ id: String, _ name: String, _ mark: StatusMark, _ traffic: StatusReport.Traffic, hasAttempts: Bool,
    details: @escaping () -> HTML
  ) -> Row {
    let window = traffic.last10s
    return Row(
      id: id, mark: mark, requests: traffic.last5m.requests, short: short(name, mark, window, hasAttempts)
    ) { isOpen in
      """
      <details class="row" id="\(id)"\(HTML.when(isOpen, " open"))>
      <summary><span class="n"><b>\(name, most: 64)</b>\(mark.html)</span>\
      \(traffic.history.requestsChart.sparkline)\(figures(window, hasAttempts))</summary>
      \(details())</details>

      """
    }
  }

  private static func short(
    _ name: String, _ mark: StatusMark, _ window: StatusReport.Window, _ hasAttempts: Bool
  ) -> HTML {
    let state: HTML = mark.level <= .warning ? mark.cell : "<td>\(mark.words)"
    return """
      <tr><th>\(name, most: 48)\(state)<td>\(StatusFigures.rate(window))\
      <td>\(StatusFigures.failed(window))<td>\(hasAttempts ? StatusFigures.number(window.retryDemand) : "")\
      <td>\(StatusFigures.seconds(window.p50))<td>\(StatusFigures.seconds(window.p99))
      """
  }

  private static func figures(_ window: StatusReport.Window, _ hasAttempts: Bool) -> HTML {
    let demand = figure(StatusFigures.number(window.retryDemand), "retry demand")
    return """
      \(figure(StatusFigures.rate(window), "req/s"))\
      \(figure(StatusFigures.failed(window), "failed", mark: StatusMark.failed(window)))\
      \(hasAttempts ? demand : "<span class=\"q\"></span>")\
      \(figure(StatusFigures.seconds(window.p50), "p50"))\
      \(figure(StatusFigures.seconds(window.p99), "p99"))
      """
  }

  private static func figure(_ value: String, _ name: String, mark: HTML = HTML()) -> HTML {
    "<span class=\"q\"><b\(mark)>\(value)</b> \(name)</span>"
  }
}

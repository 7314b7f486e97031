extension StatusPage {
  /// Problems that are shown large; the others are folded.
  private static let mostLarge = 6
  private static let roomOfProblems = 7000
  private static let roomOfListeners = 3000
  private static let roomOfCredentials = 3000

  // MARK: Problems

  static func problems(_ report: StatusReport) -> HTML {
    guard !report.problems.isEmpty else { return calm(report) }
    let large = HTML.each(report.problems.prefix(mostLarge), problem)
    let others = report.problems.dropFirst(mostLarge)
    let (list, left) = HTML.each(others, within: max(0, roomOfProblems - large.count), problem)
    let folded: HTML = """
      <details id="more-problems"><summary>\(others.count) more problems</summary>
      <ul>
      \(list)</ul>
      \(more(left, "problems"))</details>

      """
    return """
      <section class="problems" aria-label="Problems">
      <ul>
      \(large)</ul>
      \(HTML.when(!others.isEmpty, folded))</section>

      """
  }

  private static func problem(_ problem: StatusProblem) -> HTML {
    let isBad = problem.severity == .bad
    let mark = StatusMark(isBad ? .bad : .warning, isBad ? "now" : "can wait")
    return """
      <li class="\(mark.level.name)">\(mark.html) \
      \(HTML.when(!problem.subject.isEmpty, "<b>\(problem.subject, most: 80):</b> "))<span>\(problem.text, most: 300)</span>

      """
  }

  private static func calm(_ report: StatusReport) -> HTML {
    let failed = (report.routes.map(\.traffic) + report.upstreams.map(\.traffic)).contains { $0.last10s.failed > 0 }
    let words = failed ? "No problems. A few requests have failed." : "Nothing is wrong."
    return "<p class=\"calm\">\(StatusMark(.good, words).html)</p>\n"
  }

  // MARK: Sums

  /// The sums of all routes; without routes, of all upstreams.
  static func totals(_ report: StatusReport) -> HTML {
    let parts = report.routes.isEmpty ? report.upstreams.map(\.traffic) : report.routes.map(\.traffic)
    guard !parts.isEmpty else { return HTML() }
    let sum = sum(parts)
    let connections = report.listeners.reduce(0) { $0 + $1.handshaking + $1.idle + $1.active }
    return """
      <section class="totals" aria-label="All requests">
      <dl>
      \(total(StatusFigures.rate(sum.last10s), "requests per second"))\
      \(total(StatusFigures.failed(sum.last10s), "failed", mark: StatusMark.failed(sum.last10s)))\
      \(total("\(report.upstreams.reduce(0) { $0 + $1.inFlight })", "in flight"))\
      \(total("\(report.upstreams.reduce(0) { $0 + $1.waiting })", "waiting"))\
      \(HTML.when(!report.listeners.isEmpty, total("\(connections)", "connections")))\
      </dl>
      \(sum.history.requestsChart.figure)
      </section>

      """
  }

  private static func total(_ value: String, _ name: String, mark: HTML = HTML()) -> HTML {
    "<div><dt>\(name)<dd\(mark)>\(value)</div>\n"
  }

  private static func sum(_ parts: [StatusReport.Traffic]) -> StatusReport.Traffic {
    var sum = StatusReport.Traffic()
    for part in parts {
      sum.last10s.seconds = max(sum.last10s.seconds, part.last10s.seconds)
      sum.last10s.requests += part.last10s.requests
      sum.last10s.failed += part.last10s.failed
      sum.history.requests = zip(sum.history.requests, part.history.requests).map(+)
      sum.history.failed = zip(sum.history.failed, part.history.failed).map(+)
    }
    return sum
  }

  // MARK: Credentials

  /// Those in trouble come first.
  static func credentials(_ credentials: [StatusReport.Credential]) -> HTML {
    guard !credentials.isEmpty else { return HTML() }
    let marked = credentials.map { (credential: $0, mark: StatusMark($0)) }
    let troubled = marked.filter { $0.mark.level <= .warning } + marked.filter { $0.mark.level > .warning }
    let (rows, left) = HTML.each(troubled, within: roomOfCredentials) { credential, mark in
      """
      <tr><th scope="row">\(credential.name, most: 48)\(mark.cell)<td>\(StatusFigures.seconds(credential.expiresIn))\
      <td>\(credential.waiting)<td>\(credential.failure ?? "", most: 200)
      """
    }
    return """
      <section>
      <h2>Credentials</h2>
      \(HTML.table("fold credentials", ["Name", "State", "Expires in", "Waiting", "Last failure"], rows))\
      \(more(left, "credentials"))</section>

      """
  }

  // MARK: Listeners

  static func listeners(_ listeners: [StatusReport.Listener]) -> HTML {
    guard !listeners.isEmpty else { return HTML() }
    let (rows, left) = HTML.each(listeners, within: roomOfListeners) { listener in
      """
      <tr><th scope="row">\(listener.name, most: 48)<td class="c">\(listener.address, most: 64)\
      <td>\(listener.isSecure ? "TLS" : "plain")<td>\(listener.active)<td>\(listener.idle)<td>\(listener.handshaking)
      """
    }
    return """
      <section>
      <h2>Listeners</h2>
      \(HTML.table("fold listeners", ["Name", "Address", "Kind", "Active", "Idle", "In a handshake"], rows))\
      \(more(left, "listeners"))</section>

      """
  }
}

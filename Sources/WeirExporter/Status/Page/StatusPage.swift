internal import Weir
internal import WeirHTTP

/// A report as a page for people who were woken up. What is wrong comes first and in words, then what is bad or busy, in
/// full; the rest is short. It loads nothing.
package enum StatusPage {
  /// The most bytes that a page has.
  package static let mostBytes = 100_000

  /// The value of `Content-Security-Policy` for the page. The style and the script are known by their digests; the icon is
  /// in the page.
  package static let securityPolicy = """
    default-src 'none'; style-src '\(source(style))'; script-src '\(source(script))'; img-src data:; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'
    """

  private static func source(_ constant: HTML) -> String { "sha256-\(SHA256.base64(of: constant.bytes))" }

  package static func html(_ report: StatusReport) -> [UInt8] {
    var page = HTML()
    page.reserveCapacity(mostBytes)
    page += head(report)
    page += header(report)
    page += StatusPage.problems(report)
    page += totals(report)
    let end = tail(report)
    let rows = StatusRows(report, room: mostBytes - page.count - end.count)
    page += rows.html
    page += end
    return page.bytes
  }

  // MARK: Around the content

  private static func head(_ report: StatusReport) -> HTML {
    let count = report.problems.count
    let isBad = report.problems.contains { $0.severity == .bad }
    let title = count == 0 ? "" : count == 1 ? "1 problem · " : "\(count) problems · "
    return """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width,initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <noscript><meta http-equiv="refresh" content="5"></noscript>
      <title>\(title)\(report.title, most: 80)</title>
      <link rel="icon" href="\(icon(count == 0 ? "2a7f4f" : isBad ? "c0342b" : "a86a00"))">
      <style>\(style)</style>
      </head>
      <body>
      <main>

      """
  }

  /// A dot in the colour of what the page says.
  private static func icon(_ colour: String) -> String {
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E"
      + "%3Ccircle cx='4' cy='4' r='4' fill='%23\(colour)'/%3E%3C/svg%3E"
  }

  private static func header(_ report: StatusReport) -> HTML {
    let now = Timestamp(seconds: report.now)
    return """
      <header>
      <h1>\(report.title, most: 80)</h1>
      <p>weir \(report.version, most: 40) · running for \(StatusFigures.seconds(report.now - report.started)) · \
      \(configuration(report))as of \(now.clock) UTC, \(now.day)</p>
      </header>

      """
  }

  private static func configuration(_ report: StatusReport) -> HTML {
    guard let state = report.configuration else { return HTML() }
    let age = StatusFigures.seconds(report.now - state.loaded)
    let failed: HTML = ", \(StatusMark(.bad, "the last reload failed").html)"
    return """
      <span class="c">\(state.file ?? "configuration", most: 80)</span> loaded \(age) ago\
      \(HTML.when(!state.isSuccessful, failed)) ·\u{20}
      """
  }

  // MARK: After the rows

  private static func tail(_ report: StatusReport) -> HTML {
    """
    \(credentials(report.credentials))\(listeners(report.listeners))\
    \(requests("failures", "Latest failures", report.failures, of: report))\
    \(requests("slowest", "Slowest requests", report.slowest, of: report))\
    </main>
    <footer>
    <p id="live" role="status"></p>
    <noscript><p>This page is loaded anew every 5 seconds.</p></noscript>
    <p>All of it, and more, for programs: <a href="status.json">status.json</a></p>
    </footer>
    <script>\(script)</script>
    </body>
    </html>

    """
  }

  /// A line that says how many were left out; empty if there are none.
  static func more(_ left: Int, _ what: String) -> HTML {
    HTML.when(left > 0, "<p class=\"more\">\(left) more \(what) are not shown; status.json has all of them.</p>\n")
  }

  // MARK: Requests

  private static let roomOfRequests = 11_500

  /// A list of requests, which is folded as long as nothing is wrong.
  static func requests(
    _ id: String, _ title: String, _ requests: [RecentRequest], of report: StatusReport
  ) -> HTML {
    guard !requests.isEmpty else {
      return HTML.when(id == "failures", "<section><h2>\(title)</h2><p class=\"more\">None.</p></section>\n")
    }
    let hasRoutes = !report.routes.isEmpty
    let (rows, left) = HTML.each(requests, within: roomOfRequests) { row($0, hasRoute: hasRoutes) }
    return """
      <section>
      <details id="\(id)"\(HTML.when(!report.problems.isEmpty, " open"))>
      <summary><h2>\(title) <small>\(requests.count)</small></h2></summary>
      \(HTML.table("fold requests", ["Time, UTC", "Request", "Way", "Result", "Took", "Attempts", "Trace"], rows))\
      \(more(left, "requests"))</details>
      </section>

      """
  }

  private static func row(_ request: RecentRequest, hasRoute: Bool) -> HTML {
    let way = [hasRoute ? request.route : "", request.upstream].filter { !$0.isEmpty }.joined(separator: " → ")
    return """
      <tr><td>\(Timestamp(seconds: request.time).clock)<td class="c">\(request.method, most: 16) \(request.path, most: 80)\
      <td>\(way, most: 64)\(small(request.endpoint))<td>\(result(request))\
      <td>\(StatusFigures.seconds(request.seconds))<td>\(request.attempts)<td class="c">\(request.traceID ?? "", most: 40)
      """
  }

  /// `503 http_error`, and below it the error's label where that says more.
  private static func result(_ request: RecentRequest) -> HTML {
    let status = request.status == 0 ? "" : "\(request.status) "
    let error = request.error == request.outcome ? "" : request.error
    return "\(status)\(request.outcome, most: 32)\(small(error))"
  }

  private static func small(_ text: String?) -> HTML {
    guard let text, !text.isEmpty else { return HTML() }
    return "<small>\(text, most: 48)</small>"
  }

  /// The time and the result of a request, for a cell.
  static func short(_ request: RecentRequest) -> HTML {
    "\(Timestamp(seconds: request.time).clock) \(result(request))"
  }
}

extension StatusPage {
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
      <table class="fold requests">
      <thead><tr><th scope="col">Time, UTC<th scope="col">Request<th scope="col">Way<th scope="col">Result\
      <th scope="col">Took<th scope="col">Attempts<th scope="col">Trace</thead>
      <tbody>
      \(rows)</tbody>
      </table>
      \(more(left, "requests"))</details>
      </section>

      """
  }

  private static func row(_ request: RecentRequest, hasRoute: Bool) -> HTML {
    let way = [hasRoute ? request.route : "", request.upstream].filter { !$0.isEmpty }.joined(separator: " → ")
    return """
      <tr><td>\(StatusTime(request.time).clock)<td class="c">\(request.method, most: 16) \(request.path, most: 80)\
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
    "\(StatusTime(request.time).clock) \(result(request))"
  }
}

import Weir
import WeirCurl

/// `weir probe`: sends one request and shows where its time went.
struct Probe {
  let options: ProbeOptions

  /// - Returns: what to print, and whether the probe succeeded.
  func run() async -> (report: ProbeReport, isGood: Bool) {
    var configuration = SessionConfiguration()
    configuration.destinationPolicy = options.destinationPolicy
    if let file = options.authorities { configuration.tls.trustRoots = .file(file) }
    configuration.adviceNames = .probe
    // The only limit of time is the request's.
    configuration.connectTimeout = options.timeout / .seconds(1)
    configuration.timeoutIntervalForRequest = options.timeout / .seconds(1)
    let session = Session(configuration: configuration)
    var headers = HTTPHeaders()
    for field in options.headers { headers.add(name: field.name, value: field.value) }
    let request = session.request(
      options.url, method: HTTPMethod(rawValue: options.method), headers: headers)
    request.deadline(options.timeout / .seconds(1))
    let response = await request.serializingData(emptyResponseCodes: Set(100...999)).response
    return (ProbeReport(request, response), isGood(response))
  }

  private func isGood(_ response: DataResponse<Data, WeirError>) -> Bool {
    guard response.error == nil, let status = response.response?.statusCode else { return false }
    return !options.failsByStatus || status < 400
  }
}

extension ProbeReport {
  init(_ request: DataRequest, _ response: DataResponse<Data, WeirError>) {
    let metrics = response.metrics
    let outcome: String
    if let status = response.response?.statusCode {
      let version = metrics?.networkProtocolName.map { " over \(Self.version($0))" } ?? ""
      let end = response.error.map { ", then it broke off: \(Self.reason($0.cause))" } ?? ""
      outcome = "\(status)\(version)\(end)"
    } else {
      outcome = response.error.map { "no response: \(Self.reason($0.cause))" } ?? "no response"
    }
    self.init(
      outcome: outcome, facts: Self.facts(response, metrics), phases: metrics?.report.phases ?? PhaseDurations(),
      total: .seconds(metrics?.total ?? response.timeline.totalDuration))
  }

  /// The protocol's usual name: HTTP/2, where ALPN says h2 (RFC 7301).
  static func version(_ name: String) -> String {
    switch name {
    case "h2": "HTTP/2"
    case "h3": "HTTP/3"
    default: name.uppercased()
    }
  }

  /// An error's text without its beginning, which says again that the transfer failed.
  static func reason(_ text: String) -> String {
    String(text.trimmingPrefix("The transfer failed: "))
  }

  /// The URL that a redirect led to, without userinfo and query: reports of health checks are kept in logs.
  private static func shown(_ url: URL) -> String {
    let text = Redaction.url(url).absoluteString
    let origin = text.prefix { $0 != "?" && $0 != "#" }
    return origin.count == text.count ? text : "\(origin)?…"
  }

  private static func facts(
    _ response: DataResponse<Data, WeirError>, _ metrics: TransferMetrics?
  ) -> [(name: String, value: String)] {
    guard let metrics else { return [] }
    var facts: [(name: String, value: String)] = []
    if let address = metrics.remoteAddress {
      let port = metrics.remotePort.map { " port \($0)" } ?? ""
      facts.append(("peer", address + port))
    }
    if metrics.redirectCount > 0 { facts.append(("redirects", String(metrics.redirectCount))) }
    guard let head = response.response else { return facts }
    if metrics.redirectCount > 0, let url = head.url { facts.append(("url", shown(url))) }
    if let type = head.value(forHTTPHeaderField: "Content-Type") { facts.append(("type", type)) }
    let coding = metrics.contentEncoding.map { ", \($0) of \(metrics.bytesDecoded)" } ?? ""
    facts.append(
      ("body", "\(metrics.bytesReceivedOnWire) bytes\(coding)\(response.error == nil ? "" : ", incomplete")"))
    return facts
  }
}

/// The results of one request, for people to read.
struct ProbeReport {
  /// `200 OK over HTTP/1.1`, or the reason why there was no response.
  var outcome: String
  /// Named facts, shown above the table in this order.
  var facts: [(name: String, value: String)]
  /// The phases, shown one after the other, as they happen within one attempt.
  var phases: PhaseDurations
  var total: Duration

  /// The report as text: facts, then a row per phase with its place in the whole as a bar of `width` characters.
  func text(width: Int = 40) -> String {
    let width = min(max(width, 10), 200)
    var lines = [Self.printable(outcome)]
    let factWidth = facts.map(\.name.count).max() ?? 0
    for fact in facts { lines.append("\(Self.pad(fact.name, factWidth))  \(Self.printable(fact.value))") }
    let stretches = stretches
    guard !stretches.isEmpty else { return lines.joined(separator: "\n") + "\n" }
    let rows = stretches.map { [$0.name, Self.milliseconds($0.start), Self.milliseconds($0.duration)] }
    let table = [["phase", "start", "time"]] + rows + [["total", "", Self.milliseconds(total)]]
    let widths = (0..<3).map { column in table.map { $0[column].count }.max() ?? 0 }
    let bars = [""] + stretches.map { bar($0, width: width) } + [""]
    lines.append("")
    for (row, bar) in zip(table, bars) {
      let cells = [Self.pad(row[0], widths[0]), Self.pad(row[1], -widths[1]), Self.pad(row[2], -widths[2])]
      lines.append("\(cells.joined(separator: "  "))  \(bar)".replacing(#/ +$/#, with: ""))
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// `start` counts from the request's own start.
  private typealias Stretch = (name: String, start: Duration, duration: Duration)

  private var stretches: [Stretch] {
    var stretches: [Stretch] = []
    var start = Duration.zero
    phases.forEach { phase, seconds in
      stretches.append((phase.name, start, .seconds(seconds)))
      start += .seconds(seconds)
    }
    return stretches
  }

  private func bar(_ stretch: Stretch, width: Int) -> String {
    guard total > .zero, stretch.duration > .zero else { return "" }
    let begin = min(max(stretch.start / total, 0), 1)
    let end = min(max((stretch.start + stretch.duration) / total, begin), 1)
    let first = min(Int(begin * Double(width)), width - 1)
    // A phase that took any time at all gets a mark.
    let last = max(Int((end * Double(width)).rounded()), first + 1)
    return String(repeating: " ", count: first) + String(repeating: "#", count: last - first)
  }

  /// `0.120 ms`, right-aligned by the table.
  static func milliseconds(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let microseconds = seconds.multipliedReportingOverflow(by: 1_000_000)
    let count = microseconds.overflow ? Int64.max : microseconds.partialValue &+ attoseconds / 1_000_000_000_000
    let fraction = String(abs(count % 1000))
    let sign = count < 0 && count > -1000 ? "-" : ""
    return "\(sign)\(count / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction) ms"
  }

  /// Pads at the end, or at the beginning for a negative width.
  private static func pad(_ text: String, _ width: Int) -> String {
    let padding = String(repeating: " ", count: max(0, abs(width) - text.count))
    return width < 0 ? padding + text : text + padding
  }

  /// The text without control characters: a server must not steer the terminal.
  private static func printable(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) ? "\u{fffd}" : $0 }))
  }
}

import Weir
import WeirIO
import WeirMetrics

/// The page for people. It says what the program is, where to look, and whether it is scraped. It loads nothing.
struct LandingPage: Sendable {
  let title: String
  /// The address that the exporter listens on, for the example of a scrape configuration.
  let address: String
  /// The time at which the exporter began to listen.
  let since: MonotonicTime
  var hasStatus = false

  static let securityPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"

  func html(_ log: ScrapeLog, isReady: Bool, now: MonotonicTime) -> HTML {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>\(title)</title>
    <style>\(Self.style)</style>
    </head>
    <body>
    <h1>\(title)</h1>
    <p>weir \(WeirInfo.version), listening for \(QuantityText.duration(now.seconds(since: since)))</p>
    <ul>
    \(statusLine)<li><a href="metrics">/metrics</a> <span>what was measured, for Prometheus</span></li>
    <li><a href="-/healthy">/-/healthy</a> <span>answers while the process lives</span></li>
    <li><a href="-/ready">/-/ready</a> <span class="\(isReady ? "good" : "bad")">\(isReady ? "ready" : "not ready")</span></li>
    </ul>
    <h2>Scrapes</h2>
    \(HTML.when(log.lastAnswer == nil, invitation))<table>
    \(log.lastAnswer.map { Self.rows($0, now: now) } ?? HTML())<tr><th>Answered</th><td>\(log.answerCount)</td></tr>
    <tr><th>Refused</th><td>\(Self.refused(log, now: now))</td></tr>
    <tr><th>Waiting</th><td>\(log.waitingCount)</td></tr>
    </table>
    </body>
    </html>

    """
  }

  private var statusLine: HTML {
    guard hasStatus else { return HTML() }
    return
      "<li><a href=\"status\">/status</a> <span>what is wrong, and how requests fare, for people on call</span></li>\n"
  }

  private static func rows(_ last: ScrapeLog.Answer, now: MonotonicTime) -> HTML {
    """
    <tr><th>Last</th><td>\(QuantityText.duration(now.seconds(since: last.time))) ago, \
    in \(QuantityText.duration(last.seconds))</td></tr>
    <tr><th>Format</th><td>\(name(last.variant.format))\
    \(last.variant.names == nil ? "" : ", filtered")</td></tr>
    <tr><th>Size</th><td>\(size(last))</td></tr>

    """
  }

  private static func name(_ format: Exposition.Format) -> String {
    switch format {
    case .text: "text 0.0.4"
    case .openMetrics: "OpenMetrics 1.0.0"
    case .protobuf: "protobuf"
    }
  }

  private static func size(_ answer: ScrapeLog.Answer) -> String {
    let plain = QuantityText.bytes(answer.plainSize)
    return answer.variant.coding == .gzip ? "\(plain), sent as \(QuantityText.bytes(answer.size)) of gzip" : plain
  }

  private static func refused(_ log: ScrapeLog, now: MonotonicTime) -> HTML {
    guard let last = log.lastRefusal else { return "0" }
    let age = QuantityText.duration(now.seconds(since: last.time))
    return "<span class=\"bad\">\(log.refusalCount)</span>, last \(age) ago (\(last.status))"
  }

  private var invitation: HTML {
    """
    <p>None yet. For Prometheus:</p>
    <pre>scrape_configs:
      - job_name: weir
        static_configs:
          - targets: ["\(address)"]</pre>

    """
  }

  private static let style: HTML = """
    :root{color-scheme:light dark;--line:#8884;--link:#0860c4;--good:#0a7a3c;--bad:#c02020}\
    @media(prefers-color-scheme:dark){:root{--link:#7ab7ff;--good:#5fd08c;--bad:#ff8a80}}\
    body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}\
    h1{font-size:1.6rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{margin:.25rem 0 1rem}\
    ul{list-style:none;padding:0;margin:1.5rem 0}li{display:flex;padding:.4rem 0;border-top:1px solid var(--line)}\
    a{color:var(--link);font-weight:600;flex:0 0 7.5rem}\
    table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.4rem .5rem .4rem 0;\
    border-top:1px solid var(--line)}th{font-weight:600;width:7rem}\
    pre{border:1px solid var(--line);border-radius:6px;padding:.75rem;overflow-x:auto;overflow-wrap:normal;font-size:.85rem}\
    .good{color:var(--good)}.bad{color:var(--bad);font-weight:600}
    """
}

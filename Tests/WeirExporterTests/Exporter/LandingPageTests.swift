import Testing
import WeirIO
import WeirMetrics

@testable import WeirExporter

@Suite struct LandingPageTests {
  private let start = MonotonicTime(nanoseconds: 0)
  private let now = MonotonicTime(nanoseconds: 90_000_000_000)

  private func html(_ title: String = "shop", _ log: ScrapeLog = ScrapeLog(), isReady: Bool = true) -> String {
    let page = LandingPage(title: title, address: "127.0.0.1:9464", since: start)
    return String(decoding: page.html(log, isReady: isReady, now: now).bytes, as: UTF8.self)
  }

  @Test func invitesPrometheusBeforeTheFirstScrape() {
    let html = html()
    #expect(html.contains("- targets: [\"127.0.0.1:9464\"]"))
    #expect(html.contains("listening for 90 s"))
    #expect(html.contains("<span class=\"good\">ready</span>"))
    #expect(html.contains("<tr><th>Refused</th><td>0</td></tr>"))
  }

  @Test func showsTheStateOfScrapes() {
    var log = ScrapeLog()
    let variant = ScrapeRequest.Variant(format: .openMetrics, coding: .gzip, names: ["up"])
    let answer = RenderedPage(body: Array(repeating: 0, count: 1500), plainSize: 2_340_000)
    log.answered(answer, variant, seconds: 0.0042, at: MonotonicTime(nanoseconds: 78_000_000_000))
    log.refused(status: 503, at: MonotonicTime(nanoseconds: 60_000_000_000))
    log.waitingCount = 3
    let html = html("shop", log, isReady: false)
    for text in [
      "12 s ago, in 4.2 ms", "OpenMetrics 1.0.0, filtered", "2.3 MB, sent as 1.5 kB of gzip",
      "<tr><th>Answered</th><td>1</td></tr>", ">1</span>, last 30 s ago (503)", "<span class=\"bad\">not ready</span>",
      "<tr><th>Waiting</th><td>3</td></tr>",
    ] {
      #expect(html.contains(text), "\(text)")
    }
  }

  @Test(arguments: [
    (Exposition.Format.text, "text 0.0.4"), (.openMetrics, "OpenMetrics 1.0.0"), (.protobuf, "protobuf"),
  ])
  func showsTheFormat(format: Exposition.Format, name: String) {
    var log = ScrapeLog()
    let variant = ScrapeRequest.Variant(format: format, coding: .identity, names: nil)
    log.answered(RenderedPage(body: [], plainSize: 0), variant, seconds: 0, at: start)
    #expect(html("shop", log).contains("<tr><th>Format</th><td>\(name)</td></tr>"))
  }

  @Test func theTitleCannotAddMarkup() {
    let html = html("<script>alert('a & \"b\"')</script>\u{0}")
    #expect(!html.contains("<script"))
    #expect(html.contains("&lt;script&gt;alert(&#39;a &amp; &quot;b&quot;&#39;)&lt;/script&gt;\u{FFFD}"))
  }

  @Test func loadsNothing() {
    let html = html()
    for forbidden in ["src=", "http:", "https:", "//", "<script", "<link", "@import", "url("] {
      #expect(!html.contains(forbidden), "\(forbidden)")
    }
    #expect(html.utf8.count < 4096)
  }

  @Test(
    arguments: [
      (0, "0 µs"), (0.000_25, "250 µs"), (0.001, "1 ms"), (0.0042, "4.2 ms"), (0.25, "250 ms"), (1, "1 s"),
      (9.96, "10 s"),
      (119, "119 s"), (120, "2 min"), (7200, "2 h"), (172_800, "2 days"), (-1, "0 µs"), (.infinity, "∞ days"),
      (1e300, "∞ days"),
    ] as [(Double, String)])
  func durations(seconds: Double, text: String) {
    #expect(QuantityText.duration(seconds) == text)
  }

  @Test(arguments: [
    (0, "0 B"), (999, "999 B"), (1000, "1 kB"), (999_499, "999 kB"), (999_500, "1 MB"), (12_340_000, "12 MB"),
  ])
  func sizes(count: Int, text: String) {
    #expect(QuantityText.bytes(count) == text)
  }
}

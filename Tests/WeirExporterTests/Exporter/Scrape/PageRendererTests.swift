import Testing
import WeirCompression
import WeirMetrics
import WeirTestSupport

@testable import WeirExporter

@Suite struct PageRendererTests {
  let registry = Registry(ownMetrics: false)
  let renderer: PageRenderer

  init() throws {
    try registry.counter("a_total", help: "A.").increment()
    try registry.gauge("b", help: "B.").set(2)
    renderer = PageRenderer(registry: registry, showsCreated: false)
  }

  @Test func exactBytes() throws {
    let page = try renderer.render(.init(format: .text, coding: .identity, names: nil))
    let text = "# HELP a_total A.\n# TYPE a_total counter\na_total 1\n# HELP b B.\n# TYPE b gauge\nb 2\n"
    #expect(String(decoding: page.body, as: UTF8.self) == text)
    #expect(page.plainSize == text.utf8.count)
  }

  @Test func gzipHoldsTheSameBytes() throws {
    let names: Set<String> = ["b"]
    let plain = try renderer.render(.init(format: .openMetrics, coding: .identity, names: names))
    let packed = try renderer.render(.init(format: .openMetrics, coding: .gzip, names: names))
    #expect(String(decoding: plain.body, as: UTF8.self) == "# TYPE b gauge\n# HELP b B.\nb 2\n# EOF\n")
    #expect(packed.plainSize == plain.body.count)
    #expect(packed.body.starts(with: [0x1f, 0x8b]))
    #expect(try Compression.inflate(packed.body, .gzip, limits: DecodeLimits(size: nil, ratio: nil)) == plain.body)
  }

  @Test func aFilterThatMatchesNothingGivesAnEmptyPage() throws {
    let page = try renderer.render(.init(format: .text, coding: .identity, names: ["", "c"]))
    #expect(page.body.isEmpty)
  }
}

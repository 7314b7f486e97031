import Testing
import Weir
import WeirExporter
import WeirMetrics

@Suite struct BuildInfoTests {
  @Test func isOneSeries() throws {
    let registry = Registry(ownMetrics: false)
    let info = BuildInfo(version: "1.2", revision: "7663552", libcurl: "7.88.1", swift: "6.3")
    try info.register(in: registry)
    try info.register(in: registry)
    #expect(
      registry.text() == """
        # HELP weir_build_info What runs: version and commit of weir, versions of libcurl and of the Swift compiler.
        # TYPE weir_build_info gauge
        weir_build_info{version="1.2",revision="7663552",libcurl="7.88.1",swift="6.3"} 1

        """)
    #expect(BuildInfo.current.version == WeirInfo.version)
    #expect(!BuildInfo.current.revision.isEmpty)
    #expect(BuildInfo.current.libcurl.contains("."))
    #expect(BuildInfo.current.swift.hasPrefix("6."))
  }
}

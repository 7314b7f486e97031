import Testing

@testable import WeirExporter

@Suite struct ExporterRouteTests {
  @Test(
    arguments: [
      ("GET", "/", .landing), ("HEAD", "/", .landing), ("POST", "/", .wrongMethod),
      ("GET", "/metrics", .metrics), ("HEAD", "/metrics", .metrics), ("get", "/metrics", .wrongMethod),
      ("DELETE", "/metrics", .wrongMethod), ("OPTIONS", "/metrics", .wrongMethod),
      ("GET", "/-/healthy", .healthy), ("PUT", "/-/healthy", .wrongMethod),
      ("GET", "/-/ready", .ready), ("POST", "/-/ready", .wrongMethod),
      ("GET", "/metrics/", .notFound), ("GET", "//metrics", .notFound), ("GET", "/Metrics", .notFound),
      ("GET", "/%6detrics", .notFound), ("GET", "", .notFound), ("OPTIONS", "*", .notFound), ("POST", "/x", .notFound),
    ] as [(String, String, ExporterRoute)])
  func routes(method: String, path: String, route: ExporterRoute) {
    #expect(ExporterRoute(method: method, path: path) == route)
  }

  @Test(
    arguments: [
      ("GET", "/page", .page("/page")), ("HEAD", "/page", .page("/page")), ("POST", "/page", .wrongMethod),
      ("GET", "/page/", .notFound), ("GET", "/metrics", .metrics),
    ] as [(String, String, ExporterRoute)])
  func routesToPages(method: String, path: String, route: ExporterRoute) {
    #expect(ExporterRoute(method: method, path: path, pages: ["/page", "/metrics"]) == route)
  }
}

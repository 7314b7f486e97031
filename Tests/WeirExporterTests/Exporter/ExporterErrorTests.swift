import Testing
import WeirExporter
import WeirMetrics

/// Each error says what to change.
@Suite struct ExporterErrorTests {
  private func error(_ body: () throws -> Void) -> ExporterError? {
    do {
      try body()
      return nil
    } catch {
      return error as? ExporterError
    }
  }

  @Test func anAddressInUse() throws {
    let exporter = try Exporter(listenAddress: "127.0.0.1:0").start()
    defer { exporter.stop(grace: 0) }
    let address = try #require(exporter.address)
    let problem = try #require(error { try Exporter(listenAddress: address).start() })
    #expect(problem.code == .addressInUse)
    #expect(
      problem.description
        == "\(address) is in use: another program, or another instance of this one, listens there; stop it, or give "
        + "another listenAddress (port 0 lets the system choose)")
  }

  @Test(
    arguments: [
      ("nowhere", ExporterError.Code.invalidAddress), ("", .invalidAddress), ("example.com:80", .invalidAddress),
      ("127.0.0.1:99999", .invalidAddress), ("127.0.0.1:-1", .invalidAddress), ("unix:", .invalidAddress),
      ("203.0.113.1:0", .addressNotAvailable), ("unix:/nowhere/at/all", .addressNotAvailable),
    ])
  func addresses(address: String, code: ExporterError.Code) throws {
    let problem = try #require(error { try Exporter(listenAddress: address).start() })
    #expect(problem.code == code)
    #expect(problem.description.contains(address))
  }

  @Test(
    arguments: [
      ["Content-Type": "x"], ["vary": "x"], ["Content-Length": "1"], ["": "x"], ["a b": "x"], ["a\r\nb": "x"],
      ["a": "b\r\nc: d"], ["a": "\u{0}"], ["A": "1", "a": "2"],
    ])
  func headers(headers: [String: String]) throws {
    var options = Exporter.Options()
    options.headers = headers
    let problem = try #require(error { _ = try Exporter(options: options) })
    #expect(problem.code == .invalidHeader)
    #expect(problem.description.hasPrefix("Options.headers: "))
  }

  @Test func aNameThatIsTaken() throws {
    let registry = Registry()
    _ = try registry.gauge("weir_scrapes_total", help: "Mine.")
    let problem = try #require(error { _ = try Exporter(registry: registry) })
    #expect(problem.code == .registration)
    #expect(problem.registryError != nil)
    #expect(problem.description.hasPrefix("weir_scrapes_total is registered as a gauge"))
  }

  @Test func startingTwice() throws {
    let exporter = try Exporter(listenAddress: "127.0.0.1:0").start()
    defer { exporter.stop(grace: 0) }
    #expect(error { try exporter.start() }?.code == .alreadyStarted)
    #expect(try PageClient.get(exporter.address)?.status == 200)
  }
}

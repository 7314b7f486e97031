import Foundation
import Testing
import Weir
import WeirTestSupport

/// Requests that wait for their callers, beside others on the same connection of HTTP/2.
@Suite(.needs(.nginx, .openssl), .timeLimit(.minutes(5))) struct SharedConnectionTests {
  private static let size = 100 << 20

  private struct Fixture {
    let client: MeasuredSession
    let nginx: NginxServer
    let certificates: TestCertificates

    init() async throws {
      let certificates = try await TestCertificates()
      self.certificates = certificates
      nginx = try await NginxServer(
        .init("h2", listen: "ssl http2", certificates.server.directives + "location = /small { return 200 fine; }"))
      try nginx.makeFile("large", size: SharedConnectionTests.size)
      client = try MeasuredSession {
        $0.tls.trustRoots = .file(certificates.authority.certificate)
        $0.httpVersion = .http2
      }
      // Now the origin is known to speak HTTP/2, and there is a connection.
      #expect(await get("/small") == "fine")
    }

    func url(_ path: String) -> String { nginx.url(https: "h2", path) }

    func get(_ path: String) async -> String? {
      await client.session.request(url(path)).serializingString().response.value
    }

    /// Many others, which have to come through on the one connection.
    func othersGoOn() async {
      await withTaskGroup(of: String?.self) { group in
        for _ in 0..<20 { group.addTask { await get("/small") } }
        for await text in group { #expect(text == "fine") }
      }
      #expect(client.sum("weir_connections_opened_total") == 1)
    }
  }

  @Test("A suspended download holds up no other request, and is whole in the end")
  func download() async throws {
    let fixture = try await Fixture()
    let download = fixture.client.session.download(fixture.url("/large"))
    download.resume()
    try await eventually("it has begun") { download.downloadProgress.completedUnitCount > 0 }
    download.suspend()
    await fixture.othersGoOn()
    #expect(download.downloadProgress.completedUnitCount < Self.size)
    let response = await download.resume().serializingDownloadedFileURL().response
    let path = try #require(response.value?.path, "\(response)")
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == Self.size)
    #expect(fixture.client.sum("weir_connections_opened_total") == 1)
  }

  @Test("A stream whose handler waits holds up no other request, and its connection serves others when it is cancelled")
  func stream() async throws {
    let fixture = try await Fixture()
    let gate = DispatchSemaphore(value: 0)
    let stream = fixture.client.session.streamRequest(fixture.url("/large"))
      .responseStream(on: DispatchQueue(label: "slow")) { stream in
        if case .stream = stream.event { gate.wait() }
      }
    stream.resume()
    try await eventually("it has begun") { stream.downloadProgress.completedUnitCount > 0 }
    await fixture.othersGoOn()
    stream.cancel()
    for _ in 0..<10 { gate.signal() }
    try await eventually("it has ended") {
      fixture.client.sum("weir_requests_total", ["outcome": RequestOutcome.cancelled.rawValue]) == 1
    }
    await fixture.othersGoOn()
  }
}

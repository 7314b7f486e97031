import Foundation
import Glibc
import Testing
import WeirExporter
import WeirMetrics
import WeirTestSupport

/// Two thousand connections at once that are of no use, and one that is.
@Suite(.slow) struct ExporterCrowdTests {
  private static let count = 2000

  /// What a connection of the crowd does. The number tells them apart.
  private enum Guest: Int, CaseIterable {
    /// Says nothing.
    case idle
    /// Sends its header byte by byte.
    case slowLoris
    /// Has ended its side in the midst of a header.
    case halfOpen
    /// Was answered, and waits.
    case keptAlive
    /// Asks for a page and doesn't read it.
    case lazy
    /// Has a body to come that never comes.
    case bodiless
    /// Sends no HTTP.
    case malformed
  }

  private func start(connections: Int?) throws -> Exporter {
    try #require(ThisProcess.raiseDescriptorLimit(to: 3 * UInt(Self.count)), "both ends of 2,000 connections are ours")
    var options = Exporter.Options()
    if let connections { options.limits.connections = connections }
    return try Exporter(listenAddress: "127.0.0.1:0", options: options).start()
  }

  private func come(to exporter: Exporter) throws -> [(guest: Guest, client: PageClient)] {
    try (0..<Self.count).map { number in
      let guest = Guest.allCases[number % Guest.allCases.count]
      let client = try PageClient(exporter.address, receiveBuffer: guest == .lazy ? 4096 : nil)
      switch guest {
      case .idle: break
      case .slowLoris: client.send("GET /metrics HTTP/1.1\r\nX")
      case .halfOpen:
        client.send("GET /metrics HTTP/1.1\r\nHo")
        client.endSending()
      case .keptAlive: client.request("GET", "/-/healthy")
      case .lazy:
        // Fewer scrapes than may wait at once: beyond that the limit is what would be tested.
        for _ in 0..<4 { client.request("GET", number < 100 ? "/metrics" : "/") }
      case .bodiless: client.send("GET / HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\n")
      case .malformed: client.send("\u{16}\u{3}\u{1} hello\r\n\r\n")
      }
      return (guest, client)
    }
  }

  private func expectGoodScrape(of exporter: Exporter, _ comment: Comment) throws {
    let response = try #require(try PageClient.get(exporter.address), comment)
    #expect(response.status == 200, comment)
    #expect(response.text.contains("process_open_fds"), comment)
  }

  @Test func aGoodScrapeIsAnsweredAndMemoryStaysFlat() async throws {
    let exporter = try start(connections: 2 * Self.count)
    defer { exporter.stop(grace: 0) }
    let before = try ThisProcess.openDescriptors
    var memory: [Int] = []
    for round in 0..<4 {
      do {
        let crowd = try come(to: exporter)
        // Both ends, without those that the server has closed already.
        try await eventually("the crowd is in") { try ThisProcess.openDescriptors > before + Self.count * 3 / 2 }
        try expectGoodScrape(of: exporter, "round \(round), all there")
        for (guest, client) in crowd where guest == .slowLoris { client.send("-") }
        try expectGoodScrape(of: exporter, "round \(round), all busy")
        for (index, guest) in crowd.enumerated() where index % 3 == 0 { guest.client.reset() }
      }
      try expectGoodScrape(of: exporter, "round \(round), all leaving")
      try await eventually("the crowd has gone") { try ThisProcess.openDescriptors < before + 20 }
      memory.append(try ThisProcess.residentBytes)
    }
    // The first round fills pools; after that 6,000 connections leave less than 2 KB each, were it not the allocator.
    let growth = try #require(memory.last) - memory[0]
    #expect(growth < 12 << 20 || ThisProcess.isSanitized, "\(memory)")
  }

  @Test func beyondTheLimitTheyMakePlaceForEachOther() async throws {
    let exporter = try start(connections: nil)
    defer { exporter.stop(grace: 0) }
    let before = try ThisProcess.openDescriptors
    let crowd = try come(to: exporter)
    try expectGoodScrape(of: exporter, "all there")
    try await eventually("512 connections are open at the server, and no more") {
      try ThisProcess.openDescriptors <= before + crowd.count + Exporter.Limits().connections + 20
    }
    for (guest, client) in crowd where guest == .slowLoris { client.send("-") }
    try expectGoodScrape(of: exporter, "all busy")
  }
}

import Testing
import WeirTestSupport

@testable import Weir

@Suite("Destinations", .timeLimit(.minutes(1)))
struct DestinationTableTests {
  private func destination(_ number: Int) -> Destination {
    Destination(scheme: "http", host: "host\(number)", port: 80)
  }

  @Test("A destination that somebody holds is the same for all; one that nobody holds is forgotten")
  func lettingGo() {
    let table = DestinationTable()
    let held = table.state(for: destination(0), configuration: .default)
    for number in 1...10_000 { _ = table.state(for: destination(number), configuration: .default) }
    #expect(table.count <= 65)
    #expect(table.state(for: destination(0), configuration: .default) === held)
    #expect(table.state(for: Destination(scheme: "HTTP", host: "HOST0", port: 80), configuration: .default) === held)
  }

  @Test("However many are held, all of them are found again")
  func manyHeld() {
    let table = DestinationTable()
    let held = (0..<1_000).map { table.state(for: destination($0), configuration: .default) }
    #expect(table.count == 1_000)
    for number in 0..<1_000 {
      #expect(table.state(for: destination(number), configuration: .default) === held[number])
    }
  }

  @Test("A session that has spoken to many hosts remembers few")
  func ofASession() async throws {
    let hosts = try Hosts(Array(repeating: response("200 OK", ["Connection: close"], body: "fine"), count: 700))
    let table = DestinationTable()
    let session = try hosts.session(shared: table)
    for number in 0..<700 {
      #expect(await session.request("http://host\(number).test/").serializingString().response.value == "fine")
    }
    await session.loopTurn()
    #expect(table.count <= 600)
  }
}

import Testing
import WeirTestSupport
import WeirTransport

@testable import Weir

@Suite("Destinations of a session", .timeLimit(.minutes(5)))
struct SessionDestinationsTests {
  @Test("A session that has spoken to many hosts remembers them, whatever it keeps at hand")
  func ofASession() async throws {
    let hosts = try Hosts(Array(repeating: response("200 OK", ["Connection: close"], body: "fine"), count: 700))
    let table = DestinationTable()
    let session = try hosts.session(shared: table)
    for number in 0..<700 {
      #expect(await session.request("http://host\(number).test/").serializingString().response.value == "fine")
    }
    await session.loopTurn()
    #expect(table.count == 700)
  }
}

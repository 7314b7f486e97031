import Testing
import WeirIO

@testable import WeirExporter

@Suite struct WrongPasswordsTests {
  private static func time(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).advanced(bySeconds: 1000 + seconds)
  }

  /// Each step is a client, the time at which it gives a wrong password, and the seconds for which it is barred then.
  @Test(
    arguments: [
      // The tenth bars, for the rest of the minute that began with the first.
      (Array(repeating: ("a", 0.0), count: 10), ("a", 0.0), 60.0),
      (Array(repeating: ("a", 0), count: 9), ("a", 0), nil),
      ((0..<10).map { ("a", Double($0)) }, ("a", 9), 51), ((0..<10).map { ("a", Double($0)) }, ("a", 59.5), 0.5),
      ((0..<10).map { ("a", Double($0)) }, ("a", 60), nil),
      // Ten in more than a minute don't.
      ((0..<10).map { ("a", Double($0) * 7) }, ("a", 63), nil),
      // A window that is over begins anew.
      (Array(repeating: ("a", 0), count: 9) + [("a", 61)], ("a", 61), nil),
      (Array(repeating: ("a", 0), count: 9) + Array(repeating: ("a", 61), count: 10), ("a", 62), 59),
      // Further ones change nothing.
      (Array(repeating: ("a", 0), count: 30), ("a", 1), 59),
      // Others are not barred.
      (Array(repeating: ("a", 0), count: 10), ("b", 0), nil), (Array(repeating: ("a", 0), count: 10), ("", 0), nil),
      (Array(repeating: ("", 0), count: 10), ("", 1), 59), (Array(repeating: ("", 0), count: 10), ("a", 1), nil),
    ] as [([(String, Double)], (String, Double), Double?)])
  func clients(steps: [(String, Double)], asked: (String, Double), seconds: Double?) {
    var wrong = WrongPasswords(WrongPasswords.Limits())
    func address(_ name: String) -> IPAddress? { name.isEmpty ? nil : .v4(UInt32(name.utf8.first ?? 0)) }
    for (client, at) in steps { wrong.note(address(client), Self.time(at)) }
    let barred = wrong.barred(address(asked.0), Self.time(asked.1))
    #expect(barred.map { ($0 * 1000).rounded() / 1000 } == seconds)
  }

  @Test func theOldestMakePlace() {
    var wrong = WrongPasswords(WrongPasswords.Limits(count: 1, window: 60, clients: 3))
    for client in 1...4 { wrong.note(.v4(UInt32(client)), Self.time(Double(client))) }
    #expect(wrong.clientCount == 3)
    #expect((1...4).map { wrong.barred(.v4($0), Self.time(5)) != nil } == [false, true, true, true])
    // Windows that are over take no place.
    wrong.note(.v4(9), Self.time(62.5))
    #expect(wrong.clientCount == 3)
    wrong.note(.v4(9), Self.time(200))
    #expect(wrong.clientCount == 1)
  }
}

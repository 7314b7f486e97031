import Testing

@testable import WeirExporter

@Suite struct ProcessTextTests {
  let units = ProcessUnits(ticks: 100, page: 4096)

  private func stat(_ text: String, bootTime: Double? = 1_700_000_000) -> ProcessReadings {
    var readings = ProcessReadings()
    ProcessText.stat(text, bootTime: bootTime, units: units, into: &readings)
    return readings
  }

  private static let tail =
    " R 20536 20536 2126 0 -1 4194304 99 0 0 0 150 25 7 8 20 0 12 0 529520 3133440 413 18446744073709551615 1 2 3 0"

  @Test(arguments: ["cat", "a b", "a) R 1 2 (", "", ")", "é"])
  func readsStatWhateverTheCommandIsCalled(command: String) {
    let readings = stat("20545 (\(command))\(Self.tail)\n")
    #expect(
      readings
        == ProcessReadings(
          cpuSeconds: 1.75, threads: 12, startTime: 1_700_005_295.2, virtualBytes: 3_133_440, residentBytes: 413 * 4096)
    )
  }

  @Test func leavesOutWhatIsNotThere() {
    #expect(stat("") == ProcessReadings())
    #expect(stat("1 cat R 1") == ProcessReadings())
    #expect(stat("1 (cat)") == ProcessReadings())
    #expect(stat("1 (cat) R 1 2 3 0 -1 4 99 0 0 0 150") == ProcessReadings())
    #expect(stat("1 (cat) R 1 2 3 0 -1 4 99 0 0 0 150 50 0") == ProcessReadings(cpuSeconds: 2))
    #expect(stat("20545 (cat)\(Self.tail)", bootTime: nil).startTime == nil)
    #expect(stat("1 (cat) R 1 2 3 0 -1 4 99 0 0 0 -5 x").cpuSeconds == nil)
  }

  @Test(
    arguments: [
      ("cpu 1 2 3\nbtime 1795268509\nprocesses 7\n", 1_795_268_509), ("btime 5", 5), ("btime x", nil), ("btime", nil),
      ("", nil), ("xbtime 5\n", nil),
    ] as [(String, Double?)])
  func bootTime(text: String, expected: Double?) {
    #expect(ProcessText.bootTime(text) == expected)
  }

  @Test(
    arguments: [
      (
        "Max processes             96365                96365                processes \nMax open files            20000                30000                files     \n",
        20_000
      ),
      ("Max open files            unlimited            unlimited            files", .infinity),
      ("Max open files", nil), ("Max open files -1 files", nil), ("", nil),
    ] as [(String, Double?)])
  func limits(text: String, expected: Double?) {
    #expect(ProcessText.maxDescriptors(text) == expected)
  }

  @Test(
    arguments: [
      (
        "TcpExt: InOctets\nTcpExt: 5\nIpExt: InNoRoutes InOctets OutOctets InMcastOctets\nIpExt: 0 18901601493 7 1\n",
        18_901_601_493, 7
      ),
      ("IpExt: InOctets OutOctets\nIpExt: 3\n", 3, nil), ("IpExt: InOctets OutOctets\n", nil, nil), ("", nil, nil),
      ("IpExt: A OutOctets\nIpExt: 3 -7\n", nil, nil),
    ] as [(String, Double?, Double?)])
  func network(text: String, received: Double?, sent: Double?) {
    var readings = ProcessReadings()
    ProcessText.network(text, into: &readings)
    #expect(readings == ProcessReadings(receivedBytes: received, sentBytes: sent))
  }
}

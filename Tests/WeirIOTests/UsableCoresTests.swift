import Glibc
import Testing
import WeirIO

@Suite("Cores that a process may use")
struct UsableCoresTests {
  private static let limits = [
    "": "max 100000\n", "/a": "400000 100000\n", "/a/b": "150000 100000\n", "/a/b/c": "max 100000\n",
    "/small": "1000 100000\n", "/huge": "9223372036854775807 1000\n",
    "/broken": "150000\n", "/zero": "0 100000\n", "/never": "100000 0\n", "/odd": "-1 100000\n",
  ]

  @Test(
    "The least quota of a group and of those that hold it counts, rounded up",
    arguments: [
      ("0::/\n", nil), ("0::/a\n", 4), ("0::/a/b\n", 2), ("0::/a/b/c\n", 2), ("0::/a/b/gone/d\n", 2),
      ("0::/small\n", 1),
      ("1:cpu:/a\n0::/a/b\n", 2), ("1:cpu:/a/b\n", nil), ("", nil), ("0::\n", nil), ("0::/../../a/b\n", nil),
      ("0::/a/b (deleted)\n", 4), ("0::/huge\n", 9_223_372_036_854_776),
      ("0::/broken\n", nil), ("0::/zero\n", nil), ("0::/never\n", nil), ("0::/odd\n", nil),
    ] as [(String, Int?)])
  func quota(groups: String, cores: Int?) {
    #expect(UsableCores.quota(groups: groups) { Self.limits[String($0)] } == cores)
  }

  @Test func aContainersOwnQuotaCounts() {
    for groups in ["0::/\n", "0::/../other\n"] {
      #expect(UsableCores.quota(groups: groups) { $0.isEmpty ? "250000 100000\n" : nil } == 3)
    }
  }

  @Test func thereIsAtLeastOneAndAtMostWhatTheMachineHas() {
    #expect((1...sysconf(CInt(_SC_NPROCESSORS_ONLN))).contains(UsableCores.count))
  }
}

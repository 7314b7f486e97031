import Testing
import WeirIO

@testable import WeirGateway

@Suite struct ServiceEnvironmentTests {
  private static let process: CInt = 4711

  private func read(_ variables: [String: String]) -> (ServiceEnvironment, problems: [String]) {
    var problems: [String] = []
    let environment = ServiceEnvironment(variables, process: Self.process, problems: &problems)
    return (environment, problems)
  }

  @Test func withoutVariablesNothingIsAsked() {
    let (environment, problems) = read(["PATH": "/bin", "NOTIFY_SOCKET": ""])
    #expect(environment.notifyAddress == nil && environment.watchdog == nil && environment.handedOver == nil)
    #expect(environment.sockets.isEmpty && problems.isEmpty)
  }

  @Test func whatAManagerSetsIsRead() {
    let (environment, problems) = read([
      "NOTIFY_SOCKET": "/run/systemd/notify", "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "4711",
      "LISTEN_FDS": "2", "LISTEN_PID": "4711", "LISTEN_FDNAMES": "gateway:metrics",
    ])
    #expect(problems.isEmpty)
    #expect(environment.notifyAddress?.text == "/run/systemd/notify")
    #expect(environment.watchdog == .seconds(30))
    #expect(
      environment.sockets == [.init(name: "gateway", descriptor: 3), .init(name: "metrics", descriptor: 4)])
    #expect(environment.problems(of: ["gateway"]).isEmpty)
  }

  @Test func whatIsMeantForAnotherProcessIsLeftAlone() {
    let (environment, problems) = read([
      "WATCHDOG_USEC": "nonsense", "WATCHDOG_PID": "4712", "LISTEN_FDS": "nonsense", "LISTEN_PID": "1",
      "LISTEN_FDNAMES": ":::",
    ])
    #expect(environment.watchdog == nil && environment.sockets.isEmpty && problems.isEmpty)
    let (other, otherProblems) = read(["LISTEN_FDS": "2", "LISTEN_FDNAMES": "a:b", "WATCHDOG_USEC": "5"])
    #expect(other.sockets.isEmpty && other.watchdog == .microseconds(5) && otherProblems.isEmpty)
  }

  @Test(
    arguments: [
      ["NOTIFY_SOCKET": "run/notify"], ["NOTIFY_SOCKET": "@"], ["NOTIFY_SOCKET": "vsock:2:1"],
      ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 107)],
      ["WATCHDOG_USEC": ""], ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "-1"], ["WATCHDOG_USEC": "1s"],
      ["WATCHDOG_USEC": "99999999999999999999"], ["WATCHDOG_USEC": "5", "WATCHDOG_PID": "x"],
      ["LISTEN_PID": ""], ["LISTEN_PID": "x"], ["LISTEN_PID": "-4711"], ["LISTEN_PID": "99999999999"],
      ["LISTEN_PID": "4711"], ["LISTEN_PID": "4711", "LISTEN_FDS": "-1"],
      ["LISTEN_PID": "4711", "LISTEN_FDS": "2147483648"],
      ["LISTEN_PID": "4711", "LISTEN_FDS": "18", "LISTEN_FDNAMES": String(repeating: ":", count: 17)],
      ["LISTEN_PID": "4711", "LISTEN_FDS": "1"],
      ["LISTEN_PID": "4711", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "gateway:metrics"],
      ["LISTEN_PID": "4711", "LISTEN_FDS": "3", "LISTEN_FDNAMES": "gateway:metrics"],
      ["WEIR_LISTENERS": ""], ["WEIR_LISTENERS": "x"],
    ] as [[String: String]])
  func nonsenseIsAProblem(variables: [String: String]) throws {
    let (environment, problems) = read(variables)
    #expect(problems.count == 1)
    let name = try #require(problems.first?.split(separator: ":").first)
    #expect(name.hasPrefix("LISTEN_") || variables[String(name)] != nil, "\(problems)")
    #expect(environment.sockets.isEmpty)
  }

  @Test func noSocketsAreNoProblem() {
    let (environment, problems) = read(["LISTEN_PID": "4711", "LISTEN_FDS": "0"])
    #expect(environment.sockets.isEmpty && problems.isEmpty)
  }

  @Test(
    arguments: [
      ("weir.socket", ["there is no listener \"weir.socket\"", "one of gateway, metrics"]),
      ("", ["there is no listener \"\""]),
      ("gateway:gateway", ["more than one socket for \"gateway\""]),
      ("other:gateway:metrics:metrics", ["no listener \"other\"", "more than one socket for \"metrics\""]),
    ] as [(String, [String])])
  func socketsWithoutUseAreProblems(names: String, parts: [String]) {
    let count = names.split(separator: ":", omittingEmptySubsequences: false).count
    let (environment, _) = read(["LISTEN_PID": "4711", "LISTEN_FDS": "\(count)", "LISTEN_FDNAMES": names])
    let problems = environment.problems(of: ["gateway"])
    for part in parts { #expect(problems.contains { $0.contains(part) }, "\(problems)") }
  }

  @Test func abstractNamesBeginWithAZero() throws {
    #expect(try #require(NotifyAddress("@a")).path == [0, 97])
    #expect(try #require(NotifyAddress("/a")).path == [47, 97])
    #expect(NotifyAddress("@" + String(repeating: "x", count: 106))?.path.count == 107)
  }

  @Test func noticesHaveTheFormOfTheProtocol() {
    #expect(ServiceNotice.ready(status: "a\nB=1").text == "READY=1\nSTATUS=a B=1")
    #expect(
      ServiceNotice.reloading(at: .init(nanoseconds: 1_234_567)).text.hasPrefix("RELOADING=1\nMONOTONIC_USEC=1234\n"))
    #expect(ServiceNotice.stopping(status: "s").text == "STOPPING=1\nSTATUS=s")
    #expect(ServiceNotice.mainProcess(7, status: "s").text == "MAINPID=7\nSTATUS=s")
    #expect(ServiceNotice.watchdog.text == "WATCHDOG=1")
  }
}

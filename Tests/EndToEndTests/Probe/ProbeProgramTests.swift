import Foundation
import Testing
import Weir
import WeirTestSupport

/// The probe file in the hands of the program: the page, reloads, and the commands.
@Suite struct ProbeProgramTests {
  private static let open = "targets: { allow: [127.0.0.1] }\n"

  private func status(_ url: String, _ more: [String] = []) async throws -> String {
    try await Tool.curl.run(["-sS", "--max-time", "30", "-w", "%{http_code}"] + more + [url])
  }

  @Test func withoutAFileThereIsNoPage() async throws {
    let weir = try await WeirProgram(["--log.level=warn"])
    #expect(try await status(weir.metricsURL("/probe?target=http://127.0.0.1:1/")).hasSuffix("404"))
  }

  @Test func reloads() async throws {
    let server = try ScriptedServer(.answering(okResponse("ok")))
    let directory = try TemporaryDirectory()
    let file = try directory.file("probe.yml", Self.open)
    let weir = try await WeirProgram(["--probe.config.file=\(file)", "--web.enable-lifecycle", "--log.level=error"])
    let page = weir.metricsURL("/probe?target=http://127.0.0.1:\(server.port)/")
    #expect(try await status(page).contains("\nprobe_success 1\n"))
    #expect(try await status(page + "&module=new").hasPrefix("unknown module \"new\""))

    try directory.file(
      "probe.yml", Self.open + "modules: { new: { prober: http, http: { valid_status_codes: [404] } } }")
    #expect(try await status(weir.metricsURL("/-/reload"), ["-X", "POST"]) == "the configuration was reloaded\n200")
    #expect(try await status(page + "&module=new").contains("\nprobe_success 0\n"))

    try directory.file("probe.yml", "modules: { new: { prober: icmp } }")
    let refused = try await status(weir.metricsURL("/-/reload"), ["-X", "POST"])
    #expect(refused.contains("probe.yml:1:27: modules.new.prober: the prober icmp is not supported"))
    #expect(refused.hasSuffix("500"))
    #expect(try await status(page + "&module=new").contains("\nprobe_success 0\n"))
    #expect(try await status(page, ["-X", "POST"]).hasSuffix("405"))
  }

  @Test func commands() async throws {
    let server = try ScriptedServer(.answering(okResponse("ok")))
    let url = "http://127.0.0.1:\(server.port)/"
    let directory = try TemporaryDirectory()
    let file = try directory.file("probe.yml", Self.open)
    let good = try await Tool.weir.runToEnd(["probe", "--module=http_2xx", "--probe.config.file=\(file)", url])
    #expect(good.status == .exited(0))
    #expect(good.output.hasPrefix("# HELP probe_dns_lookup_time_seconds "))
    let refused = try await Tool.weir.runToEnd(["probe", "--module=http_2xx", "--destination-policy=publicOnly", url])
    #expect(refused.status == .exited(1) && refused.output.contains("\nprobe_success 0\n"))
    let any = try await Tool.weir.runToEnd(["probe", "--module=http_2xx", url])
    #expect(any.status == .exited(0))
    let unknown = try await Tool.weir.runToEnd(["probe", "--module=http_3xx", url])
    #expect(
      unknown.status == .exited(2) && unknown.output == "unknown module \"http_3xx\"; did you mean \"http_2xx\"?\n")

    let checked = try await Tool.weir.runToEnd(["check", "--probe.config.file=\(file)"])
    #expect(checked.status == .exited(0) && checked.output == "\(file): 1 module, no problems\n")
    let bad = try directory.file("bad.yml", "modules: { m: { prober: dns } }")
    let problems = try await Tool.weir.runToEnd(["check", "--probe.config.file=\(bad)"])
    #expect(problems.status == .exited(1))
    #expect(problems.output.hasPrefix("\(bad):1:25: modules.m.prober: the prober dns is not supported"))
  }
}

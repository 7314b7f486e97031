import Foundation
import Testing
import WeirTestSupport

/// What deploy/ has for the program: nginx in front of it, systemd around it.
@Suite(.needs(.weir, .curl)) struct DeployedProgramTests {
  @Test(.needs(.nginx, .openssl)) func nginxTerminatesTLSForTheMetrics() async throws {
    let directory = try TemporaryDirectory()
    let web = try directory.file("web.yml", "bearer_tokens: [t0ken]\n")
    let weir = try await WeirProgram(["--web.config.file=\(web)"])
    let certificates = try await TestCertificates()
    // The sample's one server, with our ports and certificates.
    let lines = try PackageRoot.text(of: "deploy/nginx/weir-tls.conf").split(separator: "\n")
    let begin = try #require(lines.firstIndex(of: "server {"))
    let server = lines[(begin + 1)..<lines.index(before: lines.endIndex)]
      .filter { !$0.contains(" listen ") && !$0.contains(" ssl_certificate") }.joined(separator: "\n")
    let config = server.replacing("127.0.0.1:9464", with: "127.0.0.1:\(weir.metricsPort)")
    #expect(lines.last == "}" && config != server)
    let nginx = try await NginxServer(.init("tls", listen: "ssl", certificates.server.directives + config))
    let trust = ["--cacert", certificates.authority.certificate]
    let url = nginx.url(https: "tls", "/metrics")
    #expect(try await CurlAnswer.get(url, trust[0], trust[1]).status == 401)
    let page = try await CurlAnswer.get(url, trust[0], trust[1], "-H", "Authorization: Bearer t0ken")
    #expect(page.status == 200 && page.body.contains("weir_build_info"))
    #expect(try await CurlAnswer.get(nginx.url(https: "tls"), trust[0], trust[1]).status == 404)
  }

  private static let systemdAnalyze = Tool(named: "systemd-analyze")

  @Test(.needs(systemdAnalyze)) func systemdAcceptsTheUnits() async throws {
    let directory = try TemporaryDirectory()
    let unit = try PackageRoot.text(of: "deploy/systemd/weir.service")
    let program = "/usr/local/bin/weir"
    #expect(unit.contains("ExecStart=\(program) serve"))
    // systemd runs no further command after one that failed, and weir has to learn of a faulty file too.
    #expect(unit.contains("\nExecReload=/bin/kill -HUP $MAINPID\nExecReload=\(program) check /etc/weir/weir.yml\n"))
    let file = try directory.file("weir.service", unit.replacing(program, with: try Tool.weir.path))
    let sockets = try ["weir.socket", "weir-metrics.socket"].map { name in
      try directory.file(name, try PackageRoot.text(of: "deploy/systemd/\(name)"))
    }
    #expect(try await Self.systemdAnalyze.run(["verify", "--man=no", file] + sockets) == "")
  }
}

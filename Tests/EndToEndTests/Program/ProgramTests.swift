import Foundation
import Glibc
import Testing
import WeirTestSupport

/// The program as it is built, asked by curl.
@Suite(.needs(.weir, .curl)) struct ProgramTests {
  // MARK: Without a configuration

  @Test(arguments: [
    ("/", 200, "The demo origin of weir"), ("/echo?a=b", 200, "\"query\": \"a=b\""), ("/status/404", 404, "status 404"),
    ("/delay/50ms", 200, "waited 50ms"), ("/flaky", 200, "third time lucky"), ("/nowhere", 404, "no such page"),
    ("/account", 200, "\"token_number\": "), ("/token", 400, "invalid_request"),
  ])
  func theDemoOriginAnswers(path: String, status: Int, text: String) async throws {
    let weir = try await WeirProgram()
    let answer = try await CurlAnswer.get(weir.url(path))
    #expect(answer.status == status, "\(weir.peer.output)")
    #expect(answer.body.contains(text))
  }

  @Test func bodiesAndCodingsPassUnchanged() async throws {
    let weir = try await WeirProgram()
    let echo = try await CurlAnswer.get(weir.url("/echo"), "-d", "name=weir")
    #expect(echo.body.contains("\"method\": \"POST\"") && echo.body.contains("\"body\": \"name=weir\""))
    let text = try await CurlAnswer.get(weir.url("/gzip"), "--compressed")
    #expect(text.body.hasPrefix("A weir steers a stream"))
    let head = try await CurlAnswer.get(weir.url("/gzip"), "--head")
    #expect(head.status == 200 && head.body.lowercased().contains("content-encoding: gzip"))
  }

  @Test func whatWasForwardedIsMeasured() async throws {
    let weir = try await WeirProgram()
    #expect(try await CurlAnswer.get(weir.url("/flaky")).status == 200)
    for _ in 0..<5 { #expect(try await CurlAnswer.get(weir.url("/echo")).status == 200) }
    let page = try await eventually("six requests have settled, and are counted") {
      let page = ExpositionText(try await CurlAnswer.get(weir.metricsURL("/metrics")).body)
      let succeeded = { page.sum("weir_requests_total", ["http_request_method": $0, "outcome": "success"]) }
      // The demo fetches its tokens by POST, whenever they are due.
      let attempts = page.sum("weir_attempts_started_total") - succeeded("POST")
      return succeeded("GET") == 6 && attempts == 8 && page.sum("weir_gateway_requests_total") == 6 ? page : nil
    }
    #expect(page.sum("weir_retries_total", ["reason": "503"]) == 2)
    #expect(page.sum("weir_gateway_requests_total", ["route": "flaky", "outcome": "success"]) == 1)
    #expect(page.sum("weir_gateway_requests_total", ["route": "demo", "outcome": "success"]) == 5)
    #expect(page.sum("weir_config_last_reload_successful") == 1)
    #expect(page.sum("weir_build_info") == 1)
  }

  @Test(.needs(.promtool)) func promtoolFindsNothingWrongWithThePage() async throws {
    let weir = try await WeirProgram()
    #expect(try await CurlAnswer.get(weir.url("/echo")).status == 200)
    let check = "set -o pipefail; curl -sSf \(weir.metricsURL("/metrics")) | \(try Tool.promtool.path) check metrics"
    #expect(try await Tool.shell.run(["-c", check]) == "")
  }

  // MARK: The end

  @Test func requestsUnderWayEndBeforeTheProgramDoes() async throws {
    let weir = try await WeirProgram()
    try await eventually("it says that it is ready") {
      try await CurlAnswer.get(weir.metricsURL("/-/ready")).status == 200
    }
    async let slow = CurlAnswer.get(weir.url("/delay/8s"))
    try await eventually("the request is under way") {
      let page = ExpositionText(try await CurlAnswer.get(weir.metricsURL("/metrics")).body)
      return page.sum("http_client_active_requests") == 1
    }
    weir.peer.send(signal: SIGTERM)
    try await eventually("it says that it is not ready") {
      try await CurlAnswer.get(weir.metricsURL("/-/ready")).status == 503
    }
    let answer = try await slow
    #expect(answer.status == 200 && answer.body.contains("waited 8s"))
    #expect(try await weir.peer.waitForExit() == .exited(0), "\(weir.peer.output)")
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func anIdleProgramEndsAtOnce(signal: CInt) async throws {
    let weir = try await WeirProgram()
    weir.peer.send(signal: signal)
    #expect(try await weir.peer.waitForExit() == .exited(0), "\(weir.peer.output)")
  }

  // MARK: With a configuration

  @Test(.needs(.nginx)) func routesDecideWhereRequestsGo() async throws {
    let nginx = try await NginxServer(config: "location / { return 200 \"$request_uri $http_x_caller\"; }")
    let directory = try TemporaryDirectory()
    let file = try directory.file(
      "weir.yml",
      """
      routes:
        - name: api
          match: {host: api.test, pathPrefix: /v1}
          upstream: \(nginx.url(""))
          stripPrefix: true
          headers: {set: {X-Caller: shop}}
        - name: dead
          match: {pathPrefix: /dead}
          upstream: http://127.0.0.1:\(LoopbackPort.free())

      """)
    let weir = try await WeirProgram(["--config.file=\(file)"])
    let host = ["-H", "Host: api.test"]
    let api = try await CurlAnswer.get(weir.url("/v1/price?x=1"), host[0], host[1])
    #expect(api.status == 200)
    #expect(api.body == "/price?x=1 shop")
    #expect(try await CurlAnswer.get(weir.url("/v1/price")).status == 404)
    #expect(try await CurlAnswer.get(weir.url("/dead/x")).status == 502)

    // A configuration that is wrong changes nothing, and is seen.
    try directory.file("weir.yml", "routes: 1\n")
    weir.peer.send(signal: SIGHUP)
    try await eventually("the configuration is refused") {
      let page = ExpositionText(try await CurlAnswer.get(weir.metricsURL("/metrics")).body)
      return page.sum("weir_config_last_reload_successful") == 0
    }
    #expect(try await CurlAnswer.get(weir.url("/v1/price"), host[0], host[1]).status == 200)

    try directory.file("weir.yml", "routes: [{name: all, upstream: \"\(nginx.url(""))\"}]\n")
    weir.peer.send(signal: SIGHUP)
    try await eventually("the new configuration holds") {
      try await CurlAnswer.get(weir.url("/v1/price")).body == "/v1/price "
    }
  }

  @Test(.needs(.nginx)) func largeBodiesStreamBothWays() async throws {
    let nginx = try await NginxServer(config: "client_max_body_size 60m; location / { dav_methods PUT; }")
    let directory = try TemporaryDirectory()
    let config = try directory.file("weir.yml", "routes: [{name: all, upstream: \"\(nginx.url(""))\"}]\n")
    let weir = try await WeirProgram(["--config.file=\(config)"])
    var random = SeededRandom(seed: 2)
    var body = Data(capacity: 50_000_000)
    while body.count < 50_000_000 { withUnsafeBytes(of: random.next()) { body.append(contentsOf: $0) } }
    let (sent, received) = (try directory.file("sent"), try directory.file("received"))
    try body.write(to: URL(fileURLWithPath: sent))
    #expect(try await CurlAnswer.get(weir.url("/large"), "-T", sent).status == 201)
    try await Tool.curl.run(["-sSf", "--max-time", "60", "-o", received, weir.url("/large")])
    #expect(try Data(contentsOf: URL(fileURLWithPath: received)) == body)
  }

  // MARK: Access to the metrics

  @Test func theMetricsMayAskWhoComes() async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.file(
      "web.yml",
      """
      basic_auth_users:
        prometheus: $2b$04$nez2y8oHQZ0ziFYCvRkt5eLCVratZm2iDteOQt160/xLozZPhFIQW
      bearer_tokens: [t0ken]
      http_server_config: {headers: {X-Frame-Options: deny}}

      """)
    #expect(try await Tool.weir.run(["check", "--web.config.file=\(file)"]).contains("1 user, 1 token, no problems"))
    let weir = try await WeirProgram(["--web.config.file=\(file)"])
    let metrics = weir.metricsURL("/metrics")
    #expect(try await CurlAnswer.get(metrics).status == 401)
    #expect(try await CurlAnswer.get(metrics, "-u", "prometheus:wrong").status == 401)
    #expect(try await CurlAnswer.get(metrics, "-u", "prometheus:secret").status == 200)
    #expect(try await CurlAnswer.get(metrics, "-H", "Authorization: Bearer t0ken").status == 200)
    #expect(try await CurlAnswer.get(weir.metricsURL("/-/healthy")).status == 401)
    #expect(try await CurlAnswer.get(weir.url("/echo")).status == 200, "only the metrics address asks")

    // Read again at SIGHUP, and not followed if it is wrong.
    try directory.file("web.yml", "bearer_tokens: [other]\n")
    weir.peer.send(signal: SIGHUP)
    try await eventually("the new token holds") {
      try await CurlAnswer.get(metrics, "-H", "Authorization: Bearer other").status == 200
    }
    #expect(try await CurlAnswer.get(metrics, "-H", "Authorization: Bearer t0ken").status == 401)
    try directory.file("web.yml", "bearer_token: [t0ken]\n")
    weir.peer.send(signal: SIGHUP)
    try await eventually("the wrong configuration is refused") {
      let page = try await CurlAnswer.get(metrics, "-H", "Authorization: Bearer other").body
      return ExpositionText(page).sum("weir_config_last_reload_successful") == 0 && !page.isEmpty
    }

    try directory.file("web.yml", "tls_server_config: {cert_file: a, key_file: b}\n")
    let refusal = try await Tool.weir.runToEnd(["check", "--web.config.file=\(file)"])
    #expect(refusal.status == .exited(1) && refusal.output.contains("/a\" can't be read"), "\(refusal.output)")
    let start = try await Tool.weir.runToEnd([
      "serve", "--web.config.file=\(file)", "--gateway.listen-address=127.0.0.1:0", "--web.listen-address=127.0.0.1:0",
    ])
    #expect(start.status == .exited(1) && start.output.contains("tls_server_config"), "\(start.output)")
  }

  // MARK: The other commands

  @Test func configurationsAreChecked() async throws {
    let directory = try TemporaryDirectory()
    let right = try directory.file("right.yml", "routes: [{name: all, upstream: \"http://127.0.0.1:1\"}]\n")
    #expect(try await Tool.weir.run(["check", right]).contains("1 route, no problems"))
    let wrong = try directory.file("wrong.yml", "routes:\n  - name: all\n    upstrem: http://127.0.0.1:1\n")
    let refusal = try await Tool.weir.runToEnd(["check", wrong])
    #expect(refusal.status == .exited(1))
    #expect(refusal.output.contains("wrong.yml:3") && refusal.output.contains("upstrem"), "\(refusal.output)")
  }

  @Test(.needs(.nginx)) func aProbeShowsWhereTheTimeGoes() async throws {
    let nginx = try await NginxServer(config: "location / { return 200 ok; }")
    let report = try await Tool.weir.run(["probe", nginx.url()])
    #expect(report.contains("200") && report.contains("processing"), "\(report)")
    let dead = try await Tool.weir.runToEnd(["probe", "http://127.0.0.1:\(LoopbackPort.free())/"])
    #expect(dead.status == .exited(1), "\(dead.output)")
  }

  @Test(.needs(.nginx)) func aProbeShowsNoSecretOfARedirect() async throws {
    let nginx = try await NginxServer(
      config: "location = / { return 302 http://bob:s3cret@$http_host/x?token=abc; } location /x { return 200 ok; }")
    let report = try await Tool.weir.run(["probe", nginx.url()])
    #expect(report.contains("/x?…") && !report.contains("s3cret") && !report.contains("abc"), "\(report)")
  }

  @Test(.needs(.nginx)) func aProbeTrustsTheAuthoritiesItIsGiven() async throws {
    let fixture = try await TLSFixture.shared.value
    let url = fixture.nginx.url(https: "valid"), authority = fixture.certificates.authority.certificate
    #expect(try await Tool.weir.run(["probe", "--tls.ca=\(authority)", url]).hasPrefix("200 over HTTP/1.1\n"))
    for (arguments, told) in [
      ([], "give the certificate of the server's authority by --tls.ca"), (["--tls.ca=/none.pem"], "(--tls.ca)"),
      (["--tls.ca=\(fixture.certificates.otherAuthority.certificate)"], "by --tls.ca)"),
    ] {
      let refused = try await Tool.weir.runToEnd(["probe"] + arguments + [url])
      #expect(refused.status == .exited(1) && refused.output.contains(told), "\(refused.output)")
    }
  }

  @Test(.needs(.nginx), arguments: [(200, 0), (302, 0), (399, 0), (400, 1), (503, 1)] as [(Int, Int)])
  func aProbeFailsByStatusWhenAsked(status: Int, exit: Int) async throws {
    let nginx = try await NginxServer(config: "location / { return \(status); }")
    #expect(try await Tool.weir.runToEnd(["probe", "--fail", nginx.url()]).status == .exited(exit))
    #expect(try await Tool.weir.runToEnd(["probe", nginx.url()]).status == .exited(0))
  }

  @Test func aCommandLineThatCannotBeFollowedIsRefused() async throws {
    #expect(try await Tool.weir.runToEnd(["serve", "--no.such-flag=1"]).status == .exited(2))
    #expect(try await Tool.weir.run(["--version"]).contains(#/^weir \d+\.\d+\.\d+ \(revision [^ ]+\)\nlibcurl \d/#))
    let full = try await Tool.shell.runToEnd(["-c", "exec \(try Tool.weir.path) manual weir.1 >/dev/full"])
    #expect(full.status == .exited(1))
    #expect(full.output == "weir: can't write to standard output: No space left on device\n")
    let weir = try await WeirProgram()
    let second = try await Tool.weir.runToEnd([
      "serve", "--gateway.listen-address=127.0.0.1:\(weir.port)",
      "--web.listen-address=127.0.0.1:\(LoopbackPort.free())",
    ])
    #expect(second.status == .exited(1), "\(second.output)")
  }
}

import Testing
import Weir
import WeirIO
import WeirMetrics

@testable import WeirGateway

@Suite struct CommandLineParserTests {
  private static let bucketsExpected =
    "a histogram and its upper bounds, finite and increasing, at most 512, such as "
    + "weir_phase_duration_seconds=0.001,0.01,0.1,1"
  private static let histogramsExpected =
    "names of histograms, such as weir_request_duration_seconds,weir_phase_duration_seconds, or all"

  @Test func defaultsAreLoopback() throws {
    let options = ServeOptions()
    #expect(try Command(parsing: []) == .serve(options))
    #expect(try Command(parsing: ["serve"]) == .serve(options))
    #expect(options.gatewayAddress == nil)
    #expect(ServeOptions.standardGatewayAddress.description == "127.0.0.1:8080")
    #expect(options.webAddress.description == "127.0.0.1:9464")
  }

  @Test func readsEveryFlagOfServe() throws {
    var options = ServeOptions()
    options.configFile = "weir.yml"
    options.watchInterval = .seconds(10)
    options.gatewayAddress = .any(port: 80)
    options.webAddress = .v6(high: 0, low: 1, port: 0)
    options.webConfigFile = "web.yml"
    options.probeConfigFile = "probe.yml"
    options.enablesLifecycle = true
    options.workers = 4
    options.shutdownDelay = .seconds(5)
    options.drainTimeout = .milliseconds(1500)
    options.destinationLimit = 20
    options.buckets = ["weir_request_attempts": [1, 2], "weir_retry_delay_seconds": [0.1, 1, 10]]
    options.nativeHistograms = .named(["weir_request_attempts", "x"])
    options.logLevel = .debug
    options.logFormat = .json
    let arguments = [
      "--web.enable-lifecycle", "--config.file=weir.yml", "--config.watch=10s", "--gateway.listen-address", ":80",
      "--web.listen-address=[::1]:0",
      "--web.config.file=web.yml", "--probe.config.file=probe.yml",
      "--gateway.workers=4", "--gateway.shutdown-delay=5s",
      "--gateway.drain-timeout=1.5s", "--metrics.destination-limit=20", "--metrics.buckets=weir_request_attempts=1,2",
      "--metrics.buckets", "weir_retry_delay_seconds=0.1,1,10",
      "--metrics.native-histograms=weir_request_attempts,x", "--log.level=debug", "--log.format", "json",
    ]
    #expect(try Command(parsing: arguments) == .serve(options))
    #expect(try Command(parsing: ["serve"] + arguments) == .serve(options))
  }

  @Test(
    arguments: [
      (["check", "a.yml"], .check(CheckOptions(file: "a.yml"))),
      (["check", "--", "--odd"], .check(CheckOptions(file: "--odd"))),
      (["check", "-"], .check(CheckOptions(file: "-"))),
      (["check", "--web.config.file=w.yml"], .check(CheckOptions(webConfigFile: "w.yml"))),
      (["check", "a.yml", "--web.config.file", "w.yml"], .check(CheckOptions(file: "a.yml", webConfigFile: "w.yml"))),
      (["check", "--credentials", "a.yml"], .check(CheckOptions(file: "a.yml", fetchesCredentials: true))),
      (["check", "--probe.config.file=p.yml"], .check(CheckOptions(probeConfigFile: "p.yml"))),
      (["--help"], .help(.serve)), (["-h"], .help(.serve)),
      (["help"], .help(.serve)), (["help", "probe"], .help(.probe)), (["check", "--help"], .help(.check)),
      (["serve", "--log.level=debug", "-h"], .help(.serve)), (["--version"], .version), (["version"], .version),
      (["probe", "--version"], .version), (["probe", "http://h"], .probe(ProbeOptions(url: "http://h"))),
      (["completion", "bash"], .completion(.bash)), (["completion", "--help"], .help(.completion)),
      (["manual", "weir.1"], .manual(.program)), (["manual", "weir.yml.5"], .manual(.configuration)),
      (["help", "completion"], .help(.completion)), (["manual", "-h"], .help(.manual)),
      (["probe", "HTTPS://h"], .probe(ProbeOptions(url: "HTTPS://h"))),
    ] as [([String], Command)])
  func readsCommands(arguments: [String], expected: Command) throws {
    #expect(try Command(parsing: arguments) == expected)
  }

  @Test func allHistogramsMayBeNative() throws {
    var options = ServeOptions()
    options.nativeHistograms = .all
    #expect(try Command(parsing: ["--metrics.native-histograms=all"]) == .serve(options))
  }

  @Test func readsEveryFlagOfProbe() throws {
    var options = ProbeOptions(url: "http://h/")
    options.method = "POST"
    options.headers = [HeaderRule(name: "A", value: "b: c"), HeaderRule(name: "X", value: "")]
    options.failsByStatus = true
    options.timeout = .seconds(1)
    options.destinationPolicy = .publicOnly
    options.authorities = "ca.pem"
    let arguments = [
      "probe", "--method=POST", "http://h/", "--header", "A: b: c", "--header=X:", "--fail", "--timeout=1",
      "--destination-policy=publicOnly", "--tls.ca=ca.pem",
    ]
    #expect(try Command(parsing: arguments) == .probe(options))
  }

  @Test func readsAProbeByModule() throws {
    var options = ProbeOptions(url: "example.com")
    options.module = "http_2xx"
    options.configFile = "p.yml"
    let arguments = ["probe", "--module=http_2xx", "--probe.config.file=p.yml", "example.com"]
    #expect(try Command(parsing: arguments) == .probe(options))
  }

  @Test(arguments: [
    (["server"], #"unknown command "server"; did you mean "serve"?"#),
    (
      ["frobnicate"],
      #"unknown command "frobnicate"; there are serve, check, probe, completion, manual, schema, help, version"#
    ),
    (["serve", "x.yml"], #"unexpected argument "x.yml"; a configuration is given by --config.file"#),
    (["--web.listen-adress=:1"], #"unknown flag "--web.listen-adress"; did you mean --web.listen-address?"#),
    (["check", "--config.file=f"], #"unknown flag "--config.file"; give the file itself: weir check FILE"#),
    (["-x"], #"unknown flag "-x"; weir serve --help lists what there is"#),
    (["--config.file"], "--config.file needs a value: --config.file=FILE"),
    (["--config.file="], #"--config.file: "" won't do; give a file's path"#),
    (["--log.level=info", "--log.level=warn"], "--log.level is given twice"),
    (["--log.level=loud"], #"--log.level: "loud" won't do; give one of debug, info, warn, error"#),
    (["--log.format=xml"], #"--log.format: "xml" won't do; give one of logfmt, json"#),
    (
      ["--web.listen-address=9464"],
      #"--web.listen-address: "9464" won't do; give an address and a port, such as 127.0.0.1:8080, [::1]:8080 or :8080, or unix:/path"#
    ),
    (["--gateway.workers=0"], #"--gateway.workers: "0" won't do; give a number from 1 to 256"#),
    (
      ["--gateway.drain-timeout=long"],
      #"--gateway.drain-timeout: "long" won't do; give a duration of at most 1d, such as 30s, 500ms or 1m30s"#
    ),
    (
      ["--metrics.destination-limit=-1"],
      #"--metrics.destination-limit: "-1" won't do; give a number from 0 to 100000"#
    ),
    (
      ["--metrics.buckets=weir_request_attempts"],
      #"--metrics.buckets: "weir_request_attempts" won't do; give \#(Self.bucketsExpected)"#
    ),
    (["--metrics.buckets=a=2,1"], #"--metrics.buckets: "a=2,1" won't do; give \#(Self.bucketsExpected)"#),
    (["--metrics.buckets=a=1,,2"], #"--metrics.buckets: "a=1,,2" won't do; give \#(Self.bucketsExpected)"#),
    (["--metrics.buckets=a=1,nan"], #"--metrics.buckets: "a=1,nan" won't do; give \#(Self.bucketsExpected)"#),
    (["--metrics.buckets=a=1,inf"], #"--metrics.buckets: "a=1,inf" won't do; give \#(Self.bucketsExpected)"#),
    (
      ["--metrics.buckets=a=1", "--metrics.buckets=a=2"],
      #"--metrics.buckets: "a=2" won't do; give each histogram once"#
    ),
    (["--metrics.buckets==1"], #"--metrics.buckets: "=1" won't do; give \#(Self.bucketsExpected)"#),
    (["--metrics.native-histograms="], #"--metrics.native-histograms: "" won't do; give \#(Self.histogramsExpected)"#),
    (
      ["--metrics.native-histograms=a,"],
      #"--metrics.native-histograms: "a," won't do; give \#(Self.histogramsExpected)"#
    ),
    (["probe", "--fail=yes", "http://a"], "--fail takes no value; give --fail alone"),
    (["probe", "--fail", "--fail", "http://a"], "--fail is given twice"),
    (["--config.watch=0.5s"], #"--config.watch: "0.5s" won't do; give a duration from 1s to 1d, such as 10s"#),
    (["--config.watch=2d"], #"--config.watch: "2d" won't do; give a duration from 1s to 1d, such as 10s"#),
    (
      ["--config.watch=10s"],
      "--config.watch has no file to look at; give --config.file, --web.config.file or --probe.config.file"
    ),
    (["completion"], "weir completion takes one of bash, zsh, fish"),
    (["completion", "tcsh"], "weir completion takes one of bash, zsh, fish"),
    (["manual", "weir.1", "weir.1"], "weir manual takes one of weir.1, weir.yml.5"),
    (["manual", "--all"], #"unknown flag "--all"; weir manual --help lists what there is"#),
    (["check", "--credentials", "--web.config.file=w"], "--credentials needs the FILE whose credentials it fetches"),
    (["check"], "weir check takes one FILE"), (["check", "a", "b"], "weir check takes one FILE"),
    (["probe"], "weir probe takes one URL"), (["probe", "http://a", "http://b"], "weir probe takes one URL"),
    (
      ["probe", "--probe.config.file=p.yml", "http://a"], "--probe.config.file needs --module=NAME, one of its modules"
    ),
    (
      ["probe", "--module=a", "--method=PUT", "http://a"], "--method is not for --module; the probe file says it"
    ),
    (["probe", "localhost"], #""localhost" is not a URL to probe; begin with http:// or https://"#),
    (["probe", "http://a:70000/"], #"port 70000 of "http://a:70000/" is not valid; ports are 1 to 65535"#),
    (["probe", "http://[::1]:0"], #"port 0 of "http://[::1]:0" is not valid; ports are 1 to 65535"#),
    (["probe", "--method=a b", "http://a"], #"--method: "a b" won't do; give a method name"#),
    (
      ["probe", "--header=Nope", "http://a"],
      #"--header: "Nope" won't do; give a header field, such as 'Accept: text/plain'"#
    ),
    (
      ["probe", "--header=A: b\r\nc: d", "http://a"],
      #"--header: "A: b\r\nc: d" won't do; give a header field, such as 'Accept: text/plain'"#
    ),
    (
      ["probe", "--destination-policy=public", "http://a"],
      #"--destination-policy: "public" won't do; give one of any, publicOnly"#
    ),
    (
      ["probe", "--timeout=0", "http://a"],
      #"--timeout: "0" won't do; give a duration of at most 1d, such as 30s, 500ms or 1m30s"#
    ),
  ])
  func saysWhatToChange(arguments: [String], expected: String) {
    #expect(throws: CommandLineError.self) { try Command(parsing: arguments) }
    do { _ = try Command(parsing: arguments) } catch { #expect(error.description == expected) }
  }

  @Test func usageNamesEveryFlag() {
    for command in ["weir completion SHELL", "weir manual PAGE"] { #expect(HelpTopic.serve.usage.contains(command)) }
    for name in ["--config.file=FILE", "--gateway.listen-address=ADDRESS", "--web.listen-address", "--log.format"] {
      #expect(HelpTopic.serve.usage.contains(name))
    }
    for topic in HelpTopic.allCases {
      #expect(topic.usage.split(separator: "\n").allSatisfy { $0.count <= 120 })
    }
  }
}

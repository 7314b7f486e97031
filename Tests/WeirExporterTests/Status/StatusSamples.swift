import Foundation
import WeirTestSupport

@testable import WeirExporter

/// Reports as the status page meets them.
enum StatusSamples {
  /// 12 November 2026, 03:12:07 UTC.
  static let now = 1_794_453_127.25

  static var empty: StatusReport { StatusReport(title: "weir", version: "1.2.3", started: now - 4, now: now) }

  /// A program in order, with few routes.
  static var calm: StatusReport {
    var report = StatusReport(title: "Shop gateway", version: "1.2.3", started: now - 900_000, now: now)
    report.configuration = StatusReport.ConfigurationState(
      file: "/etc/weir/weir.yml", loaded: now - 7000, isSuccessful: true)
    report.routes = ["web", "api"].enumerated().map { index, name in
      StatusReport.Route(name: name, upstream: "\(name)-servers", traffic: traffic(rate: 40, seed: UInt64(index)))
    }
    report.upstreams = ["web-servers", "api-servers"].enumerated().map { index, name in
      upstream(name, rate: 40, endpoints: 3, seed: UInt64(index))
    }
    return report
  }

  /// A night with an upstream that fails, a certificate that expires and a reload that failed.
  static var troubled: StatusReport {
    var report = calm
    report.configuration?.isSuccessful = false
    report.problems = [
      StatusProblem(
        .storm, .bad, "payments",
        "31 % of requests want a retry, all for 503 from 10.0.0.7; the budget holds attempts at 1.2 per request."),
      StatusProblem(.endpoint, .bad, "payments", "10.0.0.7:8443 is ejected since 40 s: 94 of 100 attempts failed."),
      StatusProblem(.certificate, .warning, "public", "The certificate of shop.example expires in 9 days."),
      StatusProblem(
        .configuration, .warning, "/etc/weir/weir.yml", "The last reload failed at line 41; the older one is in use."),
    ]
    report.listeners = [
      StatusReport.Listener(
        name: "public", address: "0.0.0.0:8443", isSecure: true, handshaking: 2, idle: 96, active: 31),
      StatusReport.Listener(
        name: "internal", address: "10.0.0.2:8080", isSecure: false, handshaking: 0, idle: 12, active: 3),
    ]
    report.credentials = [
      StatusReport.Credential(name: "maps", state: "good", expiresIn: nil, failure: nil, waiting: 0),
      StatusReport.Credential(name: "payments", state: "good", expiresIn: 2940.5, failure: nil, waiting: 0),
      StatusReport.Credential(
        name: "legacy", state: "missing", expiresIn: nil, failure: "the token service answers 401: invalid_client",
        waiting: 7),
      StatusReport.Credential(
        name: "search", state: "failing", expiresIn: 42, failure: "the token service does not answer", waiting: 0),
      StatusReport.Credential(name: "webhooks", state: "missing", expiresIn: nil, failure: nil, waiting: 0),
    ]
    let names = ["checkout", "search", "catalog", "images", "accounts", "legacy", "webhooks", "admin"]
    report.routes = names.enumerated().map { index, name in
      let isBad = name == "checkout"
      let rate = name == "legacy" ? 0 : Double(180 / (index + 1))
      return StatusReport.Route(
        name: name, upstream: isBad ? "payments" : name,
        traffic: traffic(rate: rate, failing: isBad ? 0.14 : name == "search" ? 0.002 : 0, seed: UInt64(index)))
    }
    var payments = upstream("payments", rate: 180, failing: 0.14, endpoints: 3, seed: 9)
    payments.circuit = "half_open"
    payments.budget = 2.4
    (payments.limit, payments.used, payments.loadControl) = (40, 38, "normal")
    (payments.inFlight, payments.waiting) = (41, 3)
    (payments.hasPace, payments.pausedFor) = (true, 4.25)
    payments.endpoints[1].address = "10.0.0.7:8443"
    payments.endpoints[1].state = "ejected"
    payments.endpoints[1].failures10s = 6
    payments.endpoints[1].failures5m = 941
    payments.endpoints[1].lastFailure = failure(3)
    report.upstreams =
      [payments]
      + names.dropFirst().enumerated().map { index, name in
        upstream(name, rate: name == "legacy" ? 0 : Double(90 / (index + 1)), endpoints: 2, seed: UInt64(20 + index))
      }
    report.failures = (0..<50).map(failure)
    report.slowest = (0..<50).map { index in
      var request = failure(index)
      (request.status, request.outcome, request.error, request.attempts) = (200, "success", "", 1)
      request.route = "search"
      request.upstream = "search"
      request.path = "/v2/search/products/\(index * 37)"
      request.seconds = 4.2 - Double(index) * 0.05
      return request
    }
    return report
  }

  /// As many routes, upstreams, endpoints and credentials as there may be.
  /// - Parameter text: Put into all names.
  static func huge(_ text: String = "") -> StatusReport {
    var report = troubled
    report.routes = (0..<200).map { index in
      let traffic = traffic(rate: Double(index), failing: index % 20 == 7 ? 0.2 : 0, seed: UInt64(index))
      return StatusReport.Route(
        name: "route-\(index)\(text)", upstream: "upstream-\(index)\(text)", traffic: traffic)
    }
    report.upstreams = (0..<200).map { index in
      var upstream = upstream(
        "upstream-\(index)\(text)", rate: Double(index), failing: index % 20 == 7 ? 0.2 : 0, endpoints: 10,
        seed: UInt64(1000 + index))
      for endpoint in upstream.endpoints.indices {
        upstream.endpoints[endpoint].address += text
        // They are of the 50 latest failures.
        if index < 5 { upstream.endpoints[endpoint].lastFailure = failure(endpoint) }
      }
      return upstream
    }
    report.problems = (0..<40).map { StatusProblem(.destination, .bad, "upstream-\($0)\(text)", "It fails. \(text)") }
    report.credentials = (0..<100).map { index in
      StatusReport.Credential(
        name: "credential-\(index)\(text)", state: index % 20 == 7 ? "failing" : "good", expiresIn: 300, failure: text,
        waiting: index)
    }
    for index in report.failures.indices {
      report.failures[index].path += text
      report.failures[index].route += text
      report.slowest[index].path += text
      report.slowest[index].error += text
    }
    return report
  }

  static func failure(_ index: Int) -> RecentRequest {
    var request = RecentRequest(time: now - Double(index) * 0.7)
    request.route = "checkout"
    request.upstream = "payments"
    request.endpoint = "10.0.0.7:8443"
    request.method = index % 3 == 0 ? "GET" : "POST"
    request.path = "/v1/charges/ch_\(3_418_207 + index * 7919)/capture"
    request.status = index % 5 == 4 ? 0 : 503
    request.outcome = index % 5 == 4 ? "timeout" : "http_error"
    request.error = index % 5 == 4 ? "connect_timeout" : ""
    request.seconds = 0.18 + Double(index % 7) * 0.31
    request.attempts = 1 + index % 3
    request.traceID = "4bf92f3577b34da6a3ce929d0e0e4\(100 + index)"
    return request
  }

  static func upstream(
    _ name: String, rate: Double, failing: Double = 0, endpoints: Int, seed: UInt64
  ) -> StatusReport.Upstream {
    var upstream = StatusReport.Upstream(
      name: name, traffic: traffic(rate: rate, failing: failing, seed: seed), inFlight: Int(rate / 12))
    upstream.budget = 20
    upstream.circuit = "closed"
    upstream.endpoints = (0..<endpoints).map { index in
      var endpoint = StatusReport.Endpoint(
        address: "10.0.\(seed % 200).\(6 + index):8443", state: "available", inFlight: Int(rate) / 40)
      endpoint.share10s = rate > 0 ? 1 / Double(endpoints) : nil
      endpoint.share5m = endpoint.share10s
      endpoint.ewma = rate > 0 ? 0.0213 + Double(index) * 0.004 : nil
      return endpoint
    }
    return upstream
  }

  /// Requests that come and go as waves do, and that fail since 90 seconds.
  static func traffic(rate: Double, failing: Double = 0, seed: UInt64) -> StatusReport.Traffic {
    var traffic = StatusReport.Traffic()
    var random = SeededRandom(seed: seed)
    for bucket in 0..<StatusReport.History.count {
      let wave = 1 + 0.25 * sin(Double(bucket) / 7 + Double(seed)) + Double.random(in: -0.12...0.12, using: &random)
      let requests = Int(rate * 5 * wave)
      let share = bucket >= 42 ? failing : failing > 0 ? 0.001 : 0
      traffic.history.requests[bucket] = requests
      traffic.history.failed[bucket] = Int(Double(requests) * share)
      traffic.history.retriesWanted[bucket] = Int(Double(requests) * share * (2.2 + wave))
      let slow = bucket >= 42 && failing > 0.01 ? 1.4 : 0.12
      traffic.history.p99[bucket] = requests > 0 ? slow * wave : nil
    }
    traffic.last10s = window(traffic.history, buckets: 2, failing: failing)
    traffic.last5m = window(traffic.history, buckets: 60, failing: failing)
    return traffic
  }

  private static func window(
    _ history: StatusReport.History, buckets: Int, failing: Double
  ) -> StatusReport.Window {
    var window = StatusReport.Window()
    window.seconds = Double(buckets * StatusReport.History.bucketSeconds)
    window.requests = history.requests.suffix(buckets).reduce(0, +)
    window.failed = history.failed.suffix(buckets).reduce(0, +)
    let wanted = history.retriesWanted.suffix(buckets).reduce(0, +)
    window.attempts = window.requests + wanted / 2
    guard window.requests > 0 else { return window }
    window.retryDemand = Double(wanted) / Double(window.requests)
    window.p50 = 0.0423
    window.p99 = failing > 0.01 ? 1.37 : 0.118
    window.phases = [
      StatusReport.Phase(name: "connect", p50: 0.0007, p99: 0.0031),
      StatusReport.Phase(name: "tls", p50: 0.0028, p99: 0.0104),
      StatusReport.Phase(name: "first_byte", p50: 0.0381, p99: failing > 0.01 ? 1.29 : 0.109),
      StatusReport.Phase(name: "transfer", p50: 0.0009, p99: 0.0072),
    ]
    if window.failed > 0 {
      let timeouts = window.failed / 6
      window.outcomes = [
        .init(name: "http_error", count: window.failed - timeouts), .init(name: "timeout", count: timeouts),
      ]
      window.retries = [.init(name: "status_503", count: wanted / 2)]
      window.denied = wanted - wanted / 2
    }
    return window
  }
}

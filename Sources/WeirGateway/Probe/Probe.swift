import Foundation
import FoundationNetworking
import Weir
import WeirCurl
import WeirTransport

/// `weir probe`: sends one request and shows where its time went.
struct Probe {
  let options: ProbeOptions

  /// - Returns: what to print, and whether the probe succeeded.
  func run() async -> (report: ProbeReport, isGood: Bool) {
    var configuration = SessionConfiguration()
    configuration.destinationPolicy = options.destinationPolicy
    if let file = options.authorities { configuration.tls.trustRoots = .file(file) }
    configuration.adviceNames = .probe
    // The only limit of time is the request's.
    configuration.connectTimeout = options.timeout / .seconds(1)
    configuration.timeoutIntervalForRequest = options.timeout / .seconds(1)
    let session = Session(configuration: configuration)
    var headers = HTTPHeaders()
    for field in options.headers { headers.add(name: field.name, value: field.value) }
    let request = session.request(
      options.url, method: HTTPMethod(rawValue: options.method), headers: headers)
    request.deadline(options.timeout / .seconds(1))
    let response = await request.serializingData(emptyResponseCodes: Set(100...999)).response
    return (ProbeReport(request, response), isGood(response))
  }

  private func isGood(_ response: DataResponse<Data, WeirError>) -> Bool {
    guard response.error == nil, let status = response.response?.statusCode else { return false }
    return !options.failsByStatus || status < 400
  }
}

extension ProbeReport {
  init(_ request: DataRequest, _ response: DataResponse<Data, WeirError>) {
    let metrics = response.metrics
    let outcome: String
    if let status = response.response?.statusCode {
      let version = metrics?.networkProtocolName.map { " over \(Self.version($0))" } ?? ""
      let end = response.error.map { ", then it broke off: \(Self.reason($0.cause))" } ?? ""
      outcome = "\(status)\(version)\(end)"
    } else {
      outcome = response.error.map { "no response: \(Self.reason($0.cause))" } ?? "no response"
    }
    self.init(
      outcome: outcome, facts: Self.facts(response, metrics), phases: metrics?.report.phases ?? PhaseDurations(),
      total: .seconds(metrics?.total ?? response.timeline.totalDuration))
  }

  /// The protocol's usual name: HTTP/2, where ALPN says h2 (RFC 7301).
  static func version(_ name: String) -> String {
    switch name {
    case "h2": "HTTP/2"
    case "h3": "HTTP/3"
    default: name.uppercased()
    }
  }

  /// An error's text without its beginning, which says again that the transfer failed.
  static func reason(_ text: String) -> String {
    var text = text[...]
    if let start = text.range(of: "The transfer failed: "), start.lowerBound == text.startIndex {
      text = text[start.upperBound...]
    }
    return String(text)
  }

  /// The URL that a redirect led to, without userinfo and query: reports of health checks are kept in logs.
  private static func shown(_ url: URL) -> String {
    let text = Redaction.url(url).absoluteString
    let origin = text.prefix { $0 != "?" && $0 != "#" }
    return origin.count == text.count ? text : "\(origin)?…"
  }

  private static func facts(
    _ response: DataResponse<Data, WeirError>, _ metrics: TransferMetrics?
  ) -> [(name: String, value: String)] {
    guard let metrics else { return [] }
    var facts: [(name: String, value: String)] = []
    if let address = metrics.remoteAddress {
      let port = metrics.remotePort.map { " port \($0)" } ?? ""
      facts.append(("peer", address + port))
    }
    if metrics.redirectCount > 0 { facts.append(("redirects", String(metrics.redirectCount))) }
    guard let head = response.response else { return facts }
    if metrics.redirectCount > 0, let url = head.url { facts.append(("url", shown(url))) }
    if let type = head.value(forHTTPHeaderField: "Content-Type") { facts.append(("type", type)) }
    let coding = metrics.contentEncoding.map { ", \($0) of \(metrics.bytesDecoded)" } ?? ""
    facts.append(
      ("body", "\(metrics.bytesReceivedOnWire) bytes\(coding)\(response.error == nil ? "" : ", incomplete")"))
    return facts
  }
}

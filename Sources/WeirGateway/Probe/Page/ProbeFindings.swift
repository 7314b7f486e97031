import WeirCurl
import WeirHTTP
import WeirIO

/// The findings of a probe, before they are judged. Times are in seconds.
struct ProbeFindings: Sendable {
  var lookup = 0.0
  /// The address that was asked; nil if there was none.
  var address: IPAddress?
  /// Redirects that the target answered with, followed or not.
  var redirects = 0
  /// The sums of the phases of all hops; the lookup of the target is in `lookup`.
  var phases = PhaseDurations()
  /// Whether the target is a URL.
  var hasTarget = false
  /// Whether a request was made.
  var hasAsked = false
  var response: Response?

  /// The response of the last hop.
  struct Response: Sendable {
    var head: ResponseHead
    var method: String
    var isSecure: Bool
    var peer: TLSPeer?
    var body: ProbeBody
    /// Whether it is a redirect that was not followed, whose body is not read.
    var isRefusedRedirect: Bool

    /// The length that the head announces; -1 if it announces none.
    var contentLength: Int64 {
      if (100..<200).contains(head.status) || head.status == 204 || head.status == 304 { return 0 }
      let hasCoding = head.version.major < 2 && head.value(forField: "Transfer-Encoding") != nil
      if method != "HEAD", hasCoding { return -1 }
      if let length = head.values(ofField: "Content-Length").first.flatMap({ Int64($0) }), length >= 0 { return length }
      return head.version.major >= 2 && method != "HEAD" && body.count == 0 && body.failure == nil ? 0 : -1
    }

    /// As blackbox_exporter writes it: `HTTP/2.0`.
    var version: String { "HTTP/\(head.version.major).\(head.version.minor)" }

    var lastModified: Int? {
      head.value(forField: "Last-Modified").flatMap { HTTPDate.parse($0, now: Int(Timestamp.now.seconds)) }
    }
  }
}

/// The judgement of a probe. A value; it takes the time of the regular expressions.
struct ProbeVerdict: Sendable {
  private(set) var isSuccess = false
  private(set) var failedByPattern = false

  init(_ findings: ProbeFindings, by module: ProbeModule, _ log: inout ProbeLog) {
    guard let response = findings.response else { return }
    isSuccess = Self.isGood(status: response.head.status, module, &log)
    if isSuccess, !module.fieldsMustMatch.isEmpty || !module.fieldsMustNotMatch.isEmpty {
      isSuccess = Self.fieldsAreGood(response.head, module, &log)
      failedByPattern = !isSuccess
    }
    judge(response.body, of: response, module, &log)
    if !module.validVersions.isEmpty, !module.validVersions.contains(response.version) {
      log.fail("Invalid HTTP version number", ["version": .string(response.version)])
      isSuccess = false
    }
    if response.isSecure ? module.failsIfSecure : module.failsIfPlain {
      log.fail("Final request was \(response.isSecure ? "over" : "not over") SSL")
      isSuccess = false
    }
  }

  private static func isGood(status: Int, _ module: ProbeModule, _ log: inout ProbeLog) -> Bool {
    if module.validStatusCodes.isEmpty {
      if (200..<300).contains(status) { return true }
      log.note("Invalid HTTP response status code, wanted 2xx", ["status_code": .integer(status)])
      return false
    }
    if module.validStatusCodes.contains(status) { return true }
    let wanted = module.validStatusCodes.map(String.init).joined(separator: " ")
    log.note(
      "Invalid HTTP response status code", ["status_code": .integer(status), "valid_status_codes": .string(wanted)])
    return false
  }

  private mutating func judge(
    _ body: ProbeBody, of response: ProbeFindings.Response, _ module: ProbeModule, _ log: inout ProbeLog
  ) {
    guard !response.isRefusedRedirect else { return }
    if body.isNotDecodable {
      log.fail("Failed to get decompressor for HTTP response body", ["err": .string(body.failure ?? "")])
      isSuccess = false
      return
    }
    if isSuccess, !module.bodyMustMatch.isEmpty || !module.bodyMustNotMatch.isEmpty {
      isSuccess = Self.isGood(body, module, &log)
      failedByPattern = !isSuccess
    }
    if let failure = body.failure {
      log.fail("Failed to read HTTP response body", ["err": .string(failure)])
      isSuccess = false
    }
  }

  private static func isGood(_ body: ProbeBody, _ module: ProbeModule, _ log: inout ProbeLog) -> Bool {
    if body.failure != nil { return false }
    for pattern in module.bodyMustNotMatch where pattern.matches(body.start) {
      log.fail("Body matched regular expression", ["regexp": .string(pattern.source)])
      return false
    }
    for pattern in module.bodyMustMatch where !pattern.matches(body.start) {
      log.fail("Body did not match regular expression", ["regexp": .string(pattern.source)])
      return false
    }
    return true
  }

  private static func fieldsAreGood(_ head: ResponseHead, _ module: ProbeModule, _ log: inout ProbeLog) -> Bool {
    for (fields, mustMatch) in [(module.fieldsMustNotMatch, false), (module.fieldsMustMatch, true)] {
      for field in fields {
        let values = head.values(ofField: field.name)
        if values.isEmpty {
          if field.mayBeMissing { continue }
          log.fail("Missing required header", ["header": .string(field.name)])
          return false
        }
        guard values.contains(where: { field.pattern.matches($0.utf8) }) != mustMatch else { continue }
        log.fail(
          "Header \(mustMatch ? "did not match" : "matched") regular expression",
          ["header": .string(field.name), "regexp": .string(field.pattern.source)])
        return false
      }
    }
    return true
  }
}

/// The log lines of one probe, shown with `debug=true`.
struct ProbeLog: Sendable {
  private(set) var text = ""
  private let common: LogFields

  init(module: String, target: String) {
    common = ["module": .string(module), "target": .string(target)]
  }

  mutating func note(_ message: String, _ fields: LogFields = [:], level: LogLevel = .info) {
    text += String(decoding: LogFormatter(.logfmt).line(at: .now, level, message, common, fields), as: UTF8.self)
  }

  mutating func fail(_ message: String, _ fields: LogFields = [:]) {
    note(message, fields, level: .error)
  }
}

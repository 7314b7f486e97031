import WeirHTTP
import WeirMetrics
import WeirServer

/// The header fields that responses of the exporter have in common.
struct FixedFields: Sendable {
  /// Of every response.
  let common: ResponseFields
  private let policy: String?

  /// Fields that depend on the response, so that a fixed one would contradict it.
  private static let reserved: Set<String> = [
    "allow", "connection", "content-encoding", "content-length", "content-type", "date", "keep-alive", "retry-after",
    "trailer", "transfer-encoding", "upgrade", "vary", "www-authenticate",
  ]

  private static let defaults = [
    ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
  ]

  /// - Parameter extra: the user's fields. They replace the exporter's own of these names.
  init(extra: [String: String]) throws(ExporterError) {
    var fields = ResponseFields()
    let names = Set(extra.keys.map { FieldSyntax.lowercased($0) })
    guard names.count == extra.count else { throw .invalidHeader("one is named twice, in other letters") }
    for (name, value) in Self.defaults where !names.contains(FieldSyntax.lowercased(name)) { fields.add(name, value) }
    for (name, value) in extra.sorted(by: { $0.key < $1.key }) {
      if let problem = Self.problem(name, value) { throw .invalidHeader(problem) }
      fields.add(name, value)
    }
    common = fields
    policy = names.contains("content-security-policy") ? nil : LandingPage.securityPolicy
  }

  /// Why a field can't be sent with every response; nil if it can.
  static func problem(_ name: String, _ value: String) -> String? {
    if reserved.contains(FieldSyntax.lowercased(name)) { return "\(name) is set by the exporter" }
    guard FieldSyntax.isToken(name) else {
      return "\(name.debugDescription) is not a field name"
    }
    let hasControls = !value.utf8.allSatisfy(\.isFieldContent)
    return hasControls ? "the value of \(name) holds a control character" : nil
  }

  func page(_ variant: ScrapeRequest.Variant) -> ResponseFields {
    var fields = common
    fields.add("Content-Type", variant.format.contentType)
    if variant.coding == .gzip { fields.add("Content-Encoding", "gzip") }
    fields.add("Vary", Self.vary)
    return fields
  }

  func unauthorized(_ challenges: [String]) -> ResponseFields {
    var fields = common
    for challenge in challenges { fields.add("WWW-Authenticate", challenge) }
    return fields
  }

  var busy: ResponseFields {
    var fields = common
    fields.add("Retry-After", "1")
    return fields
  }

  func refusal(retryAfter: Int?) -> ResponseFields {
    var fields = common
    fields.add("Vary", Self.vary)
    if let retryAfter { fields.add("Retry-After", String(retryAfter)) }
    return fields
  }

  var landing: ResponseFields {
    var fields = common
    fields.add("Content-Type", "text/html; charset=utf-8")
    if let policy { fields.add("Content-Security-Policy", policy) }
    return fields
  }

  var wrongMethod: ResponseFields {
    var fields = common
    fields.add("Allow", "GET, HEAD")
    return fields
  }

  private static let vary = "Accept, Accept-Encoding"
}

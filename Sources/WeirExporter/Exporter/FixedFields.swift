import WeirHTTP
import WeirMetrics
import WeirServer

/// The header fields that responses of the exporter have in common.
struct FixedFields: Sendable {
  /// The fields of every response.
  let common: ResponseFields
  private let policy: String?

  private static let defaults = [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]

  /// - Parameter extra: The user's fields. They replace the exporter's own fields of the same names.
  init(extra: [String: String]) throws(ExporterError) {
    var fields = ResponseFields()
    let names = Set(extra.keys.map { FieldSyntax.lowercased($0) })
    guard names.count == extra.count else { throw .invalidHeader("two names differ only in case") }
    for (name, value) in Self.defaults where !names.contains(FieldSyntax.lowercased(name)) { fields.add(name, value) }
    for (name, value) in extra.sorted(by: { $0.key < $1.key }) {
      if let problem = Exporter.Options.problem(header: name, value: value) { throw .invalidHeader(problem) }
      fields.add(name, value)
    }
    common = fields
    policy = names.contains("content-security-policy") ? nil : LandingPage.securityPolicy
  }

  func page(_ variant: ScrapeRequest.Variant) -> ResponseFields {
    fields(
      ("Content-Type", variant.format.contentType), ("Content-Encoding", variant.coding == .gzip ? "gzip" : nil),
      ("Vary", Self.vary))
  }

  func page(_ response: ExporterPage.Response) -> ResponseFields {
    var fields = common
    // The user's own policy holds for all pages.
    for field in response.fields where policy != nil || field.name != "Content-Security-Policy" {
      fields.add(field.name, field.value)
    }
    return fields
  }

  func unauthorized(_ challenges: [String]) -> ResponseFields {
    var fields = common
    for challenge in challenges { fields.add("WWW-Authenticate", challenge) }
    return fields
  }

  var wrongMethodOfAction: ResponseFields { fields(("Allow", "POST, PUT")) }

  var busy: ResponseFields { fields(("Retry-After", "1")) }

  func refusal(retryAfter: Int?) -> ResponseFields {
    fields(("Vary", Self.vary), ("Retry-After", retryAfter.map { String($0) }))
  }

  var landing: ResponseFields {
    fields(("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", policy))
  }

  var wrongMethod: ResponseFields { fields(("Allow", "GET, HEAD")) }

  /// The common fields, and those of `more` that have a value.
  private func fields(_ more: (name: String, value: String?)...) -> ResponseFields {
    var fields = common
    for case (let name, let value?) in more { fields.add(name, value) }
    return fields
  }

  private static let vary = "Accept, Accept-Encoding"
}

extension Exporter.Options {
  /// Fields that depend on the response. A fixed value would contradict it.
  private static let reserved: Set<String> = [
    "allow", "connection", "content-encoding", "content-length", "content-type", "date", "keep-alive", "retry-after",
    "trailer", "transfer-encoding", "upgrade", "vary", "www-authenticate",
  ]

  /// The reason why ``headers`` must not hold this field; nil if it may.
  package static func problem(header name: String, value: String) -> String? {
    if reserved.contains(FieldSyntax.lowercased(name)) { return "\(name) is set by the exporter" }
    guard FieldSyntax.isToken(name) else { return "\(name.debugDescription) is not a field name" }
    let hasControls = !value.utf8.allSatisfy(\.isFieldContent)
    return hasControls ? "the value of \(name) holds a control character" : nil
  }
}

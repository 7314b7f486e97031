public import Weir
import WeirHTTP

/// A collector of telemetry that takes OTLP over HTTP, and how it is sent there.
///
/// ```swift
/// var endpoint = OTLPEndpoint("https://collector.internal:4318", headers: ["api-key": Secret(try SecretFile("/run/key"))])
/// endpoint.compression = .gzip
/// ```
///
/// Source: OpenTelemetry's specification of OTLP 1.x and of its exporter.
public struct OTLPEndpoint: Sendable, Hashable {
  /// The forms of messages. gRPC is not among them.
  public enum Encoding: String, Sendable, CaseIterable {
    /// Binary.
    case protobuf = "http/protobuf"
    /// JSON by protobuf's mapping, with identifiers in hexadecimal.
    case json = "http/json"
  }

  /// The codings of a message.
  public enum Compression: String, Sendable, CaseIterable {
    /// As it is.
    case none
    /// RFC 1952.
    case gzip
  }

  /// The URL of the collector: `http://host:4318`, with a path if it has a prefix. `/v1/traces` or `/v1/metrics` is added
  /// to it.
  public var url: String
  /// Header fields of each request, such as a key. Values of files are read anew for each. They are shown nowhere.
  public var headers: [String: Secret]
  /// The form of messages.
  public var encoding = Encoding.protobuf
  /// The coding of messages.
  public var compression = Compression.none
  /// The limit in seconds of one attempt, up to the head of its answer.
  public var timeout = 10.0
  /// How an `https` collector is trusted, and the certificate that it gets.
  public var tls = TLSConfiguration()

  /// Takes the URL, and fields to send. Nothing is checked here: an export fails if the URL can't be used.
  public init(_ url: String, headers: [String: Secret] = [:]) {
    self.url = url
    self.headers = headers
  }
}

/// The kinds of telemetry that are exported. The names are label values.
package enum TelemetrySignal: String, Sendable, CaseIterable {
  case traces, metrics

  /// Behind a collector's URL.
  var path: String { "/v1/\(rawValue)" }
}

extension OTLPEndpoint {
  /// The URL for one kind of telemetry.
  func url(of signal: TelemetrySignal) -> String {
    var base = url[...]
    while base.hasSuffix("/") { base = base.dropLast() }
    return base + signal.path
  }

  /// The reason why a URL can't be used, in words that follow its key or variable; nil if it can. It does not repeat the
  /// URL, in which a password may stand.
  package static func problem(url text: String) -> String? {
    let hint = "such as http://collector.example:4318"
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }), let url = URL(string: text),
      ["http", "https"].contains(url.scheme?.lowercased()), url.host?.isEmpty == false
    else { return "must be a URL that begins with http:// or https://, \(hint)" }
    if let port = url.port, !(1...65_535).contains(port) { return "must have a port of 1 to 65535, \(hint)" }
    if url.user != nil || url.password != nil {
      return "must have no user name or password; send Authorization as one of the headers"
    }
    return url.fragment == nil ? nil : "must have no fragment (#), \(hint)"
  }

  /// The reason why a field can't be sent, or nil.
  package static func problem(header name: String) -> String? {
    guard FieldSyntax.isToken(name) else { return "must have field names, such as api-key" }
    return ownFields.contains(FieldSyntax.lowercased(name)) ? "weir writes \(name) itself; leave it out" : nil
  }

  private static let ownFields: Set = [
    "connection", "content-encoding", "content-length", "content-type", "host", "te", "traceparent", "tracestate",
    "trailer", "transfer-encoding", "upgrade",
  ]
}

import FoundationNetworking
import Weir
import WeirTransport

// The values of labels that callers, adapters and servers can influence. They are few, whatever these send.

/// The values of `http_request_method`.
enum MethodLabel {
  /// The methods of RFC 9110, PATCH (RFC 5789) and QUERY (RFC 10008). Any other could be made up by a client, and becomes `_OTHER`.
  static func of(_ method: String?) -> String {
    switch method {
    case nil, "GET": "GET"
    case .some(let name) where known.contains(name): name
    default: other
    }
  }

  static let other = "_OTHER"

  /// The number of values, `_OTHER` included.
  static var count: Int { known.count + 1 }

  private static let known: Set<String> = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
  ]
}

/// The values that replace statuses and kinds of error when a destination, or a route, has too many of them.
package enum CoarseLabel {
  /// `5xx` for `503`, which Prometheus' `5..` matches too; `cancelled`, which alerts leave out; empty if `label` is
  /// empty.
  package static func of(_ label: String) -> String {
    if label.isEmpty { return "" }
    if let status = Int(label) { return "\(status / 100)xx" }
    return label.hasSuffix("cancelled") ? "cancelled" : "_other"
  }

  /// The number of coarse statuses: 1xx to 9xx, and none.
  package static let statusCount = 10
  /// The number of coarse errors for one status: none or the status' own class, `cancelled`, and `_other`.
  package static let errorCount = 3
}

/// The share of a family that one destination, or one route, may use. Its first label sets are shown as they are.
/// Further ones get coarser labels (``CoarseLabel``), so that a server which makes up statuses takes no room from other
/// destinations.
package struct SeriesShare<Labels: Hashable & Sendable>: Sendable {
  private var own: Set<Labels> = []

  package init() {}

  /// Whether the label set is one of the first `limit`.
  package mutating func admits(_ labels: Labels, limit: Int) -> Bool {
    if own.contains(labels) { return true }
    guard own.count < limit else { return false }
    own.insert(labels)
    return true
  }
}

/// OpenTelemetry's `error.type`.
enum ErrorLabel {
  /// The status if it is an error, else the error's label; empty if there is no error.
  static func of(status: Int?, _ error: (any LabelledError)?) -> String {
    if let status, status >= 400 { return String(status) }
    // Asked first, as most attempts have none, and to copy that costs more than to see it.
    return error == nil ? "" : error?.label ?? ""
  }
}

/// OpenTelemetry's `network.protocol.version`.
package enum VersionLabel {
  /// - Parameter name: the protocol's name in ALPN (RFC 7301).
  package static func of(_ name: String?) -> String {
    switch name {
    case nil: "unknown"
    // The usual one comes first.
    case "http/1.1": "1.1"
    case "h2": "2"
    case "h3": "3"
    case "http/1.0": "1.0"
    default: "1.1"
    }
  }
}

/// The values of `content_encoding`.
enum EncodingLabel {
  /// A header that the server sends must not make up label values.
  static func of(_ value: String?) -> String {
    switch value?.lowercased() {
    case nil, "identity", "": "identity"
    case "gzip", "x-gzip": "gzip"
    case "deflate": "deflate"
    case "br": "br"
    case "zstd": "zstd"
    default: "_other"
    }
  }
}

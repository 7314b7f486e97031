import FoundationNetworking
import Weir
import WeirTransport

// The values of labels that callers, adapters and servers have a say in: few, whatever they say.

/// The values of `http_request_method`.
enum MethodLabel {
  /// RFC 9110's methods and PATCH (RFC 5789); anything else could be made up by a caller's caller.
  static func of(_ method: String?) -> String {
    switch method {
    case nil, "GET": "GET"
    case .some(let name) where known.contains(name): name
    default: other
    }
  }

  static let other = "_OTHER"

  /// How many there are, `_OTHER` included.
  static var count: Int { known.count + 1 }

  private static let known: Set<String> = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
  ]
}

/// The values of `result`: outcomes, as far as durations are told apart by them.
enum RequestResult: String, CaseIterable, Sendable {
  case success
  case failure
  case cancelled

  init(_ outcome: RequestOutcome) {
    switch outcome {
    case .success: self = .success
    case .cancelled: self = .cancelled
    default: self = .failure
    }
  }
}

/// What stands for statuses and kinds of error where a destination, or a route, has too many of them.
package enum CoarseLabel {
  /// `5xx` for `503`, which Prometheus' `5..` matches too; `cancelled`, as alerts leave it out; empty for nothing.
  package static func of(_ label: String) -> String {
    if label.isEmpty { return "" }
    if let status = Int(label) { return "\(status / 100)xx" }
    return label.hasSuffix("cancelled") ? "cancelled" : "_other"
  }

  /// How many statuses there are: 1xx to 9xx, and none.
  package static let statusCount = 10
  /// How many kinds of error there are beside a status: none, or its own class; cancelled; others.
  package static let errorCount = 3
}

/// OpenTelemetry's `error.type`.
enum ErrorLabel {
  /// The status where one came that is an error, else what went wrong; empty when nothing did.
  static func of(status: Int?, _ error: (any LabelledError)?) -> String {
    if let status, status >= 400 { return String(status) }
    return error?.label ?? ""
  }
}

/// OpenTelemetry's `network.protocol.version`.
enum VersionLabel {
  /// - Parameter name: the protocol's, as ALPN has it (RFC 7301).
  static func of(_ name: String?) -> String {
    switch name {
    case nil: "unknown"
    case "h2": "2"
    case "h3": "3"
    case "http/1.0": "1.0"
    default: "1.1"
    }
  }
}

/// The values of `content_encoding`.
enum EncodingLabel {
  /// A header of the server's making must not make up label values.
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

/// Why an adapter failed: the values of `reason` in weir_adaptation_failures_total.
///
/// Few, so that each adapter has all of them at zero from the start; what it was exactly is for the log.
enum AdaptationFailure: String, CaseIterable, Sendable {
  /// The adapter's own error: no credential, no key, a refusal.
  case error
  /// What it needed could not be fetched.
  case transport = "transport_error"
  case timeout
  /// What it needed came back as an error status or as something that can't be read.
  case response = "bad_response"
  case cancelled

  init(_ error: any Error) {
    if error is CancellationError {
      self = .cancelled
      return
    }
    let known = error.asWeirError ?? (error as? URLError).map { .sessionTaskFailed(error: $0) }
    guard let known else {
      self = .error
      return
    }
    switch RequestOutcome(error: known, status: nil) {
    case .timeout: self = .timeout
    case .cancelled: self = .cancelled
    case .transportError, .tlsError, .rejected, .limitExceeded, .sessionEnded: self = .transport
    case .httpError, .validationFailed, .serializationFailed: self = .response
    default: self = .error
    }
  }
}

/// The head of a request: request line and header fields, over one buffer that holds their bytes as received.
package struct RequestHead: Sendable {
  package enum Version: Sendable {
    case http10
    case http11
  }

  /// RFC 9112 §3.2.
  package enum TargetForm: Sendable {
    case origin
    case absolute
    case authority
    case asterisk
  }

  package internal(set) var version = Version.http11
  package internal(set) var form = TargetForm.origin
  package internal(set) var bodyLength = BodyLength.none
  package internal(set) var fields = HeaderFields()

  package var method: String { "" }
  /// The target as received.
  package var target: String { "" }
  /// The target's path as received, with its percent-encoding; `*` of the asterisk form, empty for the authority form.
  package var path: String { "" }
  /// What follows the `?`, as received.
  package var query: String? { nil }
  /// Host and port that the client meant: of an absolute target, else of the Host field.
  package var authority: String { "" }

  package func isMethod(_ method: StaticString) -> Bool { false }
  package func isPath(_ path: String) -> Bool { false }
  package func withTargetBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    body(.init(start: nil, count: 0))
  }
}

/// How a message says where its body ends (RFC 9112 §6.3).
package enum BodyLength: Hashable, Sendable {
  case none
  case length(Int64)
  /// Of a length not known beforehand; to a client of HTTP/1.0 the end of the connection ends it.
  case chunked
}

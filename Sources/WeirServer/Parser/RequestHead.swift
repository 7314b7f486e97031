import WeirHTTP

/// The head of a request: request line and header fields, over one buffer that holds their bytes as received.
package struct RequestHead: Sendable {
  package enum Version: Sendable {
    case http10
    case http11
  }

  /// The form of the request target (RFC 9112 §3.2).
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
  /// Whether the client waits for `100 Continue` before it sends the body.
  package internal(set) var expectsContinue = false
  /// Whether the client's side of the connection may serve a next request (RFC 9112 §9.3).
  package internal(set) var keepsAlive = true

  var methodRange = ByteRange.empty
  var targetRange = ByteRange.empty
  var pathRange = ByteRange.empty
  var queryRange: ByteRange?
  var authorityRange = ByteRange.empty

  package var method: String {
    // Most are, and decoding takes longer than to see it.
    isGET ? "GET" : text(methodRange)
  }
  /// The target as received.
  package var target: String { text(targetRange) }
  /// The target's path as received, with its percent-encoding. It is `*` for the asterisk form and empty for the
  /// authority form.
  package var path: String { hasImpliedPath ? "/" : text(pathRange) }
  /// The part of the target behind the `?`, as received.
  package var query: String? { queryRange.map(text) }
  /// The host and port that the client meant: those of an absolute target, else those of the Host field. Empty if it
  /// named none.
  package var authority: String { text(authorityRange) }

  package func isMethod(_ method: String) -> Bool {
    withBytes(methodRange) { bytes in method.withOctets { $0.elementsEqual(bytes) } }
  }

  package func isPath(_ path: String) -> Bool {
    if hasImpliedPath { return path == "/" }
    return withBytes(pathRange) { bytes in path.withOctets { $0.elementsEqual(bytes) } }
  }

  /// Method, target, path, query and authority of a request as octets: its derived components (RFC 9421 §2.2).
  package struct Components {
    package let method: UnsafeRawBufferPointer
    /// As received.
    package let target: UnsafeRawBufferPointer
    package let path: UnsafeRawBufferPointer
    /// Nil without a question mark.
    package let query: UnsafeRawBufferPointer?
    package let authority: UnsafeRawBufferPointer
  }

  /// Calls `body` with the components, whose bytes are valid during the call.
  package func withComponents<Result>(_ body: (Components) -> Result) -> Result {
    fields.bytes.withUnsafeBytes { bytes in
      let slash: StaticString = "/"
      let implied = UnsafeRawBufferPointer(start: slash.utf8Start, count: slash.utf8CodeUnitCount)
      return body(
        Components(
          method: methodRange.slice(of: bytes), target: targetRange.slice(of: bytes),
          path: hasImpliedPath ? implied : pathRange.slice(of: bytes),
          query: queryRange?.slice(of: bytes), authority: authorityRange.slice(of: bytes)))
    }
  }

  /// Calls `body` with the bytes of `authority`.
  package func withAuthorityBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withBytes(authorityRange, body)
  }

  /// Releases the memory of a long head, since the connection may wait long for the next one.
  mutating func forgetLargeBuffers() {
    if fields.isLarge { self = RequestHead() }
  }

  /// `http://example.com` and `http://example.com?a` mean the path `/` (RFC 9110 §4.2.3).
  private var hasImpliedPath: Bool { form == .absolute && pathRange.isEmpty }

  private var isGET: Bool {
    withBytes(methodRange) { $0.count == 3 && $0[0] == 0x47 && $0[1] == 0x45 && $0[2] == 0x54 }
  }

  private func text(_ range: ByteRange) -> String {
    withBytes(range) { String(decoding: $0, as: UTF8.self) }
  }

  private func withBytes<Result>(_ range: ByteRange, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    fields.bytes.withUnsafeBytes { body(range.slice(of: $0)) }
  }
}

/// How a message marks the end of its body (RFC 9112 §6.3).
package enum BodyLength: Hashable, Sendable {
  case none
  case length(Int64)
  /// A body of unknown length. If the client speaks HTTP/1.0, the end of the connection ends it.
  case chunked

  /// Whether there is no body, or an empty one.
  var isEmpty: Bool { self == .none || self == .length(0) }
}

package import WeirHTTP

/// Why a transfer failed.
package struct TransferError: Error, Sendable, Hashable {
  package enum Kind: String, Sendable {
    /// libcurl's own failure: see `code`.
    case curl
    /// No byte moved for the silence timeout.
    case silence = "silence_timeout"
    /// The attempt had no final head within its limit.
    case attemptTimeout = "attempt_timeout"
    /// The response head is larger than the maximum.
    case headTooLarge = "head_too_large"
    case cancelled
    /// The delegate answered `.stop`.
    case stopped
    /// The engine was closed under the transfer.
    case engineClosed = "engine_closed"
    /// libcurl's multi handle failed, and with it all its transfers.
    case engineFailed = "engine_failed"
    /// The body of an HTTP/2 response is not as long as its Content-Length.
    case lengthMismatch = "length_mismatch"
    /// The proxy has refused the tunnel, with `proxyStatus`.
    case proxyRefused = "proxy_refused"
    /// The proxy wants a credential, or another one.
    case proxyUnauthorized = "proxy_authentication"
    /// No connection to the proxy could be opened, or it has closed it without an answer.
    case proxyUnreachable = "proxy_unreachable"
    /// The proxy has not made the tunnel in time.
    case proxyTimeout = "proxy_timeout"
    /// There was no TLS connection to the proxy.
    case proxyTLS = "proxy_tls"
    /// The response has Content-Length fields that disagree.
    case conflictingLengths = "conflicting_lengths"
    /// The head is malformed, or leaves open where the response ends.
    case malformedHead = "malformed_head"
    /// The response has a Transfer-Encoding that is not exactly `chunked`.
    case refusedTransferEncoding = "transfer_encoding"
    /// Only the end of the TLS connection would mark the end of the body, and this libcurl can't tell it from a cut.
    case unprovableEnd = "unprovable_end"
    /// The connection ended without an answer after the request was sent, and the request must not be sent twice.
    case connectionLost = "connection_lost"
    /// The transfer's policy refuses the address that the URL names, or all addresses of its name.
    case addressRefused = "address_refused"
    /// The system gave no socket, for lack of descriptors or memory; `osErrno` says which.
    case noSocket = "no_socket"
    /// The method, a header line or the body can't be sent.
    case invalidRequest = "invalid_request"
    /// The delegate could not provide the body.
    case bodyUnavailable = "body_unavailable"
    /// The body's file can't be opened or read, or has become shorter; `osErrno` says why, if the system did.
    case fileUnavailable = "file_unavailable"
    /// The body had to be sent again and could not be rewound.
    case bodyNotRewindable = "body_not_rewindable"

    /// Whether a proxy on the way, or its tunnel, has failed.
    package var isAtProxy: Bool {
      switch self {
      case .proxyRefused, .proxyUnauthorized, .proxyUnreachable, .proxyTimeout, .proxyTLS: true
      default: false
      }
    }
  }

  package let kind: Kind
  /// libcurl's result; `.ok` for errors found by weir.
  package let code: CurlCode
  /// libcurl's text about this failure, or ours. It may name hosts and files, so it is not fit for a label.
  package let message: String
  /// The system's error number of the last failed connect, or of the failure in `kind`; 0 if there is none.
  package let osErrno: Int32
  /// The status with which the proxy answered CONNECT, or one that says the same as its SOCKS reply; 0 if it is not the
  /// cause.
  package let proxyStatus: Int
  /// The defect of the server's certificate, if that is the cause.
  package let certificateDefect: CertificateDefect?

  package init(
    _ kind: Kind, code: CurlCode = .ok, message: String, osErrno: Int32 = 0, proxyStatus: Int = 0,
    certificateDefect: CertificateDefect? = nil
  ) {
    self.kind = kind
    self.code = code
    self.message = message
    self.osErrno = osErrno
    self.proxyStatus = proxyStatus
    self.certificateDefect = certificateDefect
  }

  /// Whether the cause is the way to the server, which says nothing about the server. A proxy that could not reach the server
  /// tells by 502, 503 or 504.
  package var isOfProxy: Bool {
    switch kind {
    case .proxyRefused: !(502...504).contains(proxyStatus)
    default: kind.isAtProxy
    }
  }

  /// Whether the cause is a defect of this process or its settings, which says nothing about the server.
  package var isOwnDefect: Bool {
    switch kind {
    case .noSocket, .engineFailed: true
    case .curl: code.isOwnDefect
    default: false
    }
  }

  /// A name from a bounded set without dynamic text, fit for a metric.
  package var label: String { kind == .curl ? code.label : kind.rawValue }
}

extension TransferError: CustomStringConvertible {
  package var description: String { message.isEmpty ? label : "\(label): \(message)" }
}

/// Errors that both engines have, with their texts.
extension TransferError {
  package static let cancelled = TransferError(.cancelled, message: "the transfer was cancelled")
  package static let stopped = TransferError(.stopped, message: "the receiver of the response stopped it")
  package static let engineClosed = TransferError(.engineClosed, message: "the session was closed")
  package static let engineFailed = TransferError(.engineFailed, message: "libcurl's multi handle failed")
  package static let connectionLost = TransferError(
    .connectionLost,
    message:
      "the connection was closed without a response after the request was sent; the server may have processed it, "
      + "so it was not sent again (with HTTP/2, also if the server refused its stream)")
  package static let bodyUnavailable = TransferError(
    .bodyUnavailable, message: "the request's body could not be read")
  package static let bodyNotRewindable = TransferError(
    .bodyNotRewindable,
    message: "the request had to be sent again, but its body can't be read from the beginning again")

  package static func silence(_ seconds: Double) -> TransferError {
    TransferError(.silence, message: "nothing was sent or received for \(seconds) s")
  }

  package static func attemptTimeout(_ seconds: Double) -> TransferError {
    TransferError(.attemptTimeout, message: "the head of the response did not come within \(seconds) s")
  }

  package static func fileUnavailable(_ defect: FileDefect?) -> TransferError {
    TransferError(
      .fileUnavailable, message: "the file of the request's body \(defect?.text ?? "can't be read")",
      osErrno: defect?.errno ?? 0)
  }

  /// With the code that libcurl has for such a defect.
  package init(_ defect: ResponseDefect) {
    let (kind, code): (Kind, CurlCode) =
      switch defect {
      case .malformedHead: (.malformedHead, .ok)
      case .headTooLarge, .tooManyInterimResponses, .malformedChunks(.trailersTooLarge): (.headTooLarge, .ok)
      case .conflictingLengths: (.conflictingLengths, .ok)
      case .refusedTransferEncoding: (.refusedTransferEncoding, .ok)
      case .unprovableEnd: (.unprovableEnd, .ok)
      case .notHTTP: (.curl, .unsupportedProtocol)
      case .malformedChunks: (.curl, .receiveError)
      case .noResponse: (.curl, .emptyReply)
      case .cutHead, .cutBody: (.curl, .partialFile)
      }
    self.init(kind, code: code, message: defect.message)
  }

  /// The message of the one `unsupportedProtocol` that is the URL's fault.
  package static let unsupportedURL = "the URL does not begin with http:// or https://, or holds blanks"
}

/// The defect of a server's certificate: OpenSSL's verify result (X509_STORE_CTX_get_error(3)), which libcurl passes on
/// as a number. The texts of both libraries change between versions, the numbers do not.
package enum CertificateDefect: Sendable, Hashable {
  case expired
  case notYetValid
  /// The certificate's chain leads to none of the trusted roots.
  case unknownRoot
  /// The certificate is for another name.
  case wrongHost
  /// The certificate was revoked, is not for servers, is too weak, …
  case other

  /// - Parameters:
  ///   - result: The verify result of a transfer that failed with ``CurlCode/peerFailedVerification``.
  ///   - isOpenSSL: Whether the number has OpenSSL's meaning.
  package init(verifyResult result: Int, isOpenSSL: Bool = true) {
    self =
      switch isOpenSSL ? result : nil {
      // libcurl compares the names itself, before it reads the result; 1 is the result's initial value.
      case 0, 1, 62, 64: .wrongHost
      case 10, 14: .expired
      case 9, 13: .notYetValid
      case 2, 18, 19, 20, 21: .unknownRoot
      default: .other
      }
  }
}

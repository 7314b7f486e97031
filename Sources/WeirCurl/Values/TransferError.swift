/// Why a transfer failed.
package struct TransferError: Error, Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// libcurl's own failure: see `code`.
    case curl
    /// No byte moved for the silence timeout.
    case silence
    /// The response head is larger than the maximum.
    case headTooLarge
    case cancelled
    /// The delegate answered `.stop`.
    case stopped
    /// The engine was closed under the transfer.
    case engineClosed
    /// libcurl's multi handle failed, and with it all its transfers.
    case engineFailed
    /// The body of an HTTP/2 response is not as long as its Content-Length.
    case lengthMismatch
    /// The proxy answered CONNECT with this status.
    case tunnelRefused(status: Int)
    /// The response has Content-Length fields that disagree.
    case conflictingLengths
    /// The head is malformed, or leaves open where the response ends.
    case malformedHead
    /// The response has a Transfer-Encoding that is not exactly `chunked`.
    case refusedTransferEncoding
    /// Only the end of the TLS connection would mark the end of the body, and this libcurl can't tell it from a cut.
    case unprovableEnd
    /// The connection ended without an answer after the request was sent, and the request must not be sent twice.
    case connectionLost
    /// The transfer's policy refuses the address that the URL names, or all addresses of its name.
    case addressRefused
    /// The system gave no socket, for lack of descriptors or memory; `osErrno` says which.
    case noSocket
    /// The method, a header line or the body can't be sent.
    case invalidRequest
    /// The delegate could not provide the body.
    case bodyUnavailable
    /// The body's file can't be opened or read, or has become shorter; `osErrno` says why, if the system did.
    case fileUnavailable
    /// The body had to be sent again and could not be rewound.
    case bodyNotRewindable
  }

  package let kind: Kind
  /// libcurl's result; `.ok` for errors found by weir.
  package let code: CurlCode
  /// libcurl's text about this failure, or ours. It may name hosts and files, so it is not fit for a label.
  package let message: String
  /// The system's error number of the last failed connect, or of the failure in `kind`; 0 if there is none.
  package let osErrno: Int32
  /// The defect of the server's certificate, if that is the cause.
  package let certificateDefect: CertificateDefect?

  package init(
    _ kind: Kind, code: CurlCode = .ok, message: String, osErrno: Int32 = 0, certificateDefect: CertificateDefect? = nil
  ) {
    self.kind = kind
    self.code = code
    self.message = message
    self.osErrno = osErrno
    self.certificateDefect = certificateDefect
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
  package var label: String {
    switch kind {
    case .curl: code.label
    case .silence: "silence_timeout"
    case .headTooLarge: "head_too_large"
    case .cancelled: "cancelled"
    case .stopped: "stopped"
    case .engineClosed: "engine_closed"
    case .engineFailed: "engine_failed"
    case .lengthMismatch: "length_mismatch"
    case .tunnelRefused: "tunnel_refused"
    case .conflictingLengths: "conflicting_lengths"
    case .malformedHead: "malformed_head"
    case .refusedTransferEncoding: "transfer_encoding"
    case .unprovableEnd: "unprovable_end"
    case .connectionLost: "connection_lost"
    case .addressRefused: "address_refused"
    case .noSocket: "no_socket"
    case .invalidRequest: "invalid_request"
    case .bodyUnavailable: "body_unavailable"
    case .fileUnavailable: "file_unavailable"
    case .bodyNotRewindable: "body_not_rewindable"
    }
  }
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
}

extension TransferError {
  /// The message of the one `unsupportedProtocol` that is the URL's fault.
  package static let unsupportedURL = "the URL does not begin with http:// or https://, or holds blanks"
}

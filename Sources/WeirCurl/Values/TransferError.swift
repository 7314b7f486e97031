/// Why a transfer failed.
package struct TransferError: Error, Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// libcurl's own: see `code`.
    case curl
    /// Nothing moved for the silence timeout.
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
    /// An HTTP/2 response whose body is not as long as its Content-Length.
    case lengthMismatch
    /// The proxy answered CONNECT with this status.
    case tunnelRefused(status: Int)
    /// Content-Length fields that disagree.
    case conflictingLengths
    /// A head that is none, or that leaves open where the response ends.
    case malformedHead
    /// A Transfer-Encoding that is not exactly `chunked`.
    case refusedTransferEncoding
    /// A body over TLS whose end nothing but the end of the connection would mark, with a libcurl that takes a cut for it.
    case unprovableEnd
    /// The connection ended without an answer, after the request was sent, and it must not go twice.
    case connectionLost
    /// The transfer's policy refuses the address that the URL names, or all those of its name.
    case addressRefused
    /// The system gave no socket, for want of descriptors or memory; `osErrno` says which.
    case noSocket
    /// A method, header line or body that can't be sent.
    case invalidRequest
    /// The delegate could not provide the body.
    case bodyUnavailable
    /// The body's file can't be opened or read, or has become shorter; `osErrno` says why, if the system did.
    case fileUnavailable
    /// The body had to be sent again and could not be rewound.
    case bodyNotRewindable
  }

  package let kind: Kind
  /// libcurl's result; `.ok` for errors found here.
  package let code: CurlCode
  /// libcurl's text about this failure, or ours; may name hosts and files, so it is not fit for a label.
  package let message: String
  /// The system's error number of the last failed connect, or of what `kind` says; 0 when there is none.
  package let osErrno: Int32
  /// What is wrong with the server's certificate, if it is that.
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

  /// Whether it is a defect of this process or its settings, which says nothing of the other side.
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

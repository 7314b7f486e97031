import Glibc
package import WeirCurl

/// Why a transfer failed: the code that decides what follows, and the text that people read. The text contains no
/// secret: libcurl's texts name only hosts, ports and certificates.
package struct TransferFailure: Error, Hashable, Sendable {
  package let code: FailureCode
  package let text: String
  /// libcurl's result, if libcurl reported the failure.
  package var curlCode: CurlCode?
  /// Whether the destination policy refused to connect, as it will do again.
  package var isDestinationRefused = false
  /// Whether the failure is a defect of this process, and says nothing about the server.
  package var isOwnDefect: Bool

  package init(_ code: FailureCode, _ text: String) {
    self.code = code
    self.text = text
    isOwnDefect = code == .cannotLoadFromNetwork
  }

  /// Translates an error of libcurl or of the engine into Foundation's terms.
  package init(_ error: TransferError, advice: TransferAdvice) {
    code = FailureCode(error)
    text = advice.text(of: error)
    curlCode = error.code
    isDestinationRefused = error.kind == .addressRefused
    isOwnDefect = code == .cannotLoadFromNetwork || error.isOwnDefect
  }
}

extension FailureCode {
  init(_ error: TransferError) {
    switch error.kind {
    case .curl: self.init(error.code, text: error.message, error.certificateDefect)
    case .silence: self = .timedOut
    case .headTooLarge: self = .dataLengthExceedsMaximum
    case .cancelled, .stopped, .engineClosed: self = .cancelled
    case .lengthMismatch, .engineFailed, .connectionLost: self = .networkConnectionLost
    case .conflictingLengths, .malformedHead, .refusedTransferEncoding, .unprovableEnd: self = .badServerResponse
    case .tunnelRefused(let status): self.init(ofTunnel: status)
    case .addressRefused, .noSocket: self = .cannotConnectToHost
    case .invalidRequest: self = .badURL
    case .bodyUnavailable: self = .requestBodyStreamExhausted
    // The connection was lost. The request could only have been sent again on another one with a body that can be
    // rewound.
    case .bodyNotRewindable: self = .networkConnectionLost
    case .fileUnavailable: self.init(ofFile: error.osErrno)
    }
  }

  private init(ofFile errno: Int32) {
    switch errno {
    case ENOENT, ENOTDIR: self = .fileDoesNotExist
    case EISDIR: self = .fileIsDirectory
    case EACCES, EPERM: self = .noPermissionsToReadFile
    default: self = .cannotOpenFile
    }
  }

  private init(_ code: CurlCode, text: String, _ defect: CertificateDefect?) {
    switch code {
    // The URL's fault if the engine says so; else the server's, whose answer names no version of HTTP, or an unknown one.
    case .unsupportedProtocol: self = text == TransferError.unsupportedURL ? .unsupportedURL : .badServerResponse
    case .malformedURL: self = .badURL
    case .couldNotResolveHost, .couldNotResolveProxy: self = .cannotFindHost
    case .couldNotConnect, .proxy, .interfaceFailed: self = .cannotConnectToHost
    case .timedOut: self = .timedOut
    case .weirdServerReply, .chunkFailed: self = .badServerResponse
    // libcurl says "Malformed encoding found in chunked-encoding", "chunk hex-length char not a hex digit" and the
    // like.
    case .receiveError where text.contains("chunk"): self = .badServerResponse
    case .sendError, .receiveError: self = TLSFailure(text)?.code ?? .networkConnectionLost
    case .emptyReply, .partialFile, .http2Framing, .http2Stream, .sendRewindFailed: self = .networkConnectionLost
    case .tlsConnect: self = TLSFailure(text)?.code ?? .secureConnectionFailed
    case .tlsCipher, .tlsEngineInitFailed, .tlsEngineNotFound, .tlsEngineSetFailed: self = .secureConnectionFailed
    case .peerFailedVerification: self.init(defect)
    case .tlsIssuerError, .invalidCertificateStatus, .pinnedPublicKeyMismatch: self = .serverCertificateUntrusted
    case .badTrustRoots: self = .serverCertificateHasUnknownRoot
    case .clientCertificateProblem: self = .clientCertificateRejected
    case .clientCertificateRequired: self = .clientCertificateRequired
    case .fileSizeExceeded, .tooLarge: self = .dataLengthExceedsMaximum
    case .badContentEncoding: self = .cannotDecodeContentData
    case .tooManyRedirects: self = .httpTooManyRedirects
    case .abortedByCallback: self = .cancelled
    case .writeError: self = .cannotWriteToFile
    default: self = .unknown
    }
  }

  /// A proxy that wants other credentials, or makes no such tunnels, will refuse again; a proxy that fails may recover.
  private init(ofTunnel status: Int) {
    switch status {
    case 407: self = .userAuthenticationRequired
    case 408, 429, 500...: self = .cannotConnectToHost
    default: self = .resourceUnavailable
    }
  }

  /// libcurl has one code for all defects of a certificate.
  private init(_ defect: CertificateDefect?) {
    switch defect {
    case .expired: self = .serverCertificateHasBadDate
    case .notYetValid: self = .serverCertificateNotYetValid
    case .unknownRoot: self = .serverCertificateHasUnknownRoot
    case .wrongHost, .other, nil: self = .serverCertificateUntrusted
    }
  }
}

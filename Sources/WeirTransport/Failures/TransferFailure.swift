import Glibc
package import WeirCurl

/// Why a transfer failed: the code that decides what follows, and the text that people read. The text names no secret:
/// libcurl's texts speak of hosts, ports and certificates only.
package struct TransferFailure: Error, Hashable, Sendable {
  package let code: FailureCode
  package let text: String
  /// libcurl's result, where libcurl had a say.
  package var curlCode: CurlCode?
  /// Whether the policy of destinations refused to connect: it will do so again.
  package var isDestinationRefused = false
  /// Whether it is a defect of this process, and says nothing of the server.
  package var isOwnDefect: Bool

  package init(_ code: FailureCode, _ text: String) {
    self.code = code
    self.text = text
    isOwnDefect = code == .cannotLoadFromNetwork
  }

  /// Puts what libcurl or the engine says into Foundation's terms.
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
    // A connection was lost on which it could have been sent again.
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
    // Mostly the other side's, whose answer speaks of no version of HTTP or of an unknown one.
    case .unsupportedProtocol: self = text.contains("HTTP") ? .badServerResponse : .unsupportedURL
    case .malformedURL: self = .badURL
    case .couldNotResolveHost, .couldNotResolveProxy: self = .cannotFindHost
    case .couldNotConnect, .proxy, .interfaceFailed: self = .cannotConnectToHost
    case .timedOut: self = .timedOut
    case .weirdServerReply, .chunkFailed: self = .badServerResponse
    // "Malformed encoding found in chunked-encoding", "chunk hex-length char not a hex digit" and the like.
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

  /// A proxy that wants other credentials, or doesn't make such tunnels, will say so again; one that fails may not.
  private init(ofTunnel status: Int) {
    switch status {
    case 407: self = .userAuthenticationRequired
    case 408, 429, 500...: self = .cannotConnectToHost
    default: self = .resourceUnavailable
    }
  }

  /// libcurl has one code for all that can be wrong with a certificate.
  private init(_ defect: CertificateDefect?) {
    switch defect {
    case .expired: self = .serverCertificateHasBadDate
    case .notYetValid: self = .serverCertificateNotYetValid
    case .unknownRoot: self = .serverCertificateHasUnknownRoot
    case .wrongHost, .other, nil: self = .serverCertificateUntrusted
    }
  }
}

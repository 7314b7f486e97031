import Glibc
package import WeirCurl
import WeirHTTP

/// Why a transfer failed: the code that decides what follows, and the text that people read. The text contains no
/// secret: libcurl's texts name only hosts, ports and certificates.
package struct TransferFailure: Error, Hashable, Sendable {
  package let code: FailureCode
  package let text: String
  /// libcurl's result, if libcurl reported the failure.
  package var curlCode: CurlCode?
  /// The failure of a proxy on the way, or of its tunnel; nil for others.
  package var proxyKind: TransferError.Kind?
  package var facts: Facts = []

  /// The facts about a failure. In one octet, since a failure with more parts is copied by calls.
  package struct Facts: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The destination policy refused to connect, as it will do again.
    package static let destinationRefused = Facts(rawValue: 1)
    /// The failure is a defect of this process, and says nothing about the server.
    package static let ownDefect = Facts(rawValue: 2)
    /// It says nothing about the server, as a proxy on the way has failed or refused.
    package static let ofProxy = Facts(rawValue: 4)
    /// A limit on a silence or on the attempt's time was reached, and not one on the connection alone.
    package static let timeLimit = Facts(rawValue: 8)
  }

  package init(_ code: FailureCode, _ text: String) {
    self.code = code
    self.text = text
    if code == .cannotLoadFromNetwork { facts = .ownDefect }
  }

  /// Translates an error of libcurl or of the engine into Foundation's terms.
  package init(_ error: TransferError, advice: TransferAdvice) {
    self.init(FailureCode(error), advice.text(of: error))
    curlCode = error.code
    proxyKind = error.kind.isAtProxy ? error.kind : nil
    if error.kind == .addressRefused { facts.insert(.destinationRefused) }
    if error.isOwnDefect { facts.insert(.ownDefect) }
    if error.isOfProxy { facts.insert(.ofProxy) }
    if error.kind == .silence || error.kind == .attemptTimeout { facts.insert(.timeLimit) }
  }

  package var isDestinationRefused: Bool { facts.contains(.destinationRefused) }
  package var isOwnDefect: Bool { facts.contains(.ownDefect) }
  package var isOfProxy: Bool { facts.contains(.ofProxy) }
  package var isTimeLimit: Bool { facts.contains(.timeLimit) }

  /// The label of ``proxyKind``.
  package var proxyLabel: String? { proxyKind?.rawValue }
}

extension FailureCode {
  init(_ error: TransferError) {
    switch error.kind {
    case .curl: self.init(error.code, text: error.message, error.certificateDefect)
    case .silence, .attemptTimeout: self = .timedOut
    case .headTooLarge: self = .dataLengthExceedsMaximum
    case .cancelled, .stopped, .engineClosed: self = .cancelled
    case .lengthMismatch, .engineFailed, .connectionLost: self = .networkConnectionLost
    case .conflictingLengths, .malformedHead, .refusedTransferEncoding, .unprovableEnd: self = .badServerResponse
    case .proxyRefused, .proxyUnauthorized: self.init(ofTunnel: error.proxyStatus)
    case .proxyTimeout: self = .timedOut
    case .proxyTLS: self.init(error.code, text: error.message, error.certificateDefect)
    case .proxyUnreachable where error.code == .couldNotResolveProxy: self = .cannotFindHost
    case .proxyUnreachable, .addressRefused, .noSocket: self = .cannotConnectToHost
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
    case .receiveError where text.withOctets({ $0.contains("chunk") }): self = .badServerResponse
    case .sendError, .receiveError: self = Self(ofTLS: text) ?? .networkConnectionLost
    case .emptyReply, .partialFile, .http2Framing, .http2Stream, .sendRewindFailed: self = .networkConnectionLost
    case .tlsConnect: self = Self(ofTLS: text) ?? .secureConnectionFailed
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

  /// A failure of TLS itself, as OpenSSL describes it. It is read from libcurl's text of a failure to connect, send or
  /// receive: for the latter two libcurl has no code that tells TLS from TCP. From TLS 1.3 on a server may refuse a
  /// client's certificate after the handshake is over for the client (RFC 8446 section 4.4.2). Nil when the text is not
  /// from OpenSSL, or only reports the end of the connection.
  init?(ofTLS text: String) {
    guard text.withOctets({ $0.contains("SSL routines") }), !text.contains("unexpected eof") else { return nil }
    self =
      if text.contains("alert certificate required") {
        .clientCertificateRequired
      } else if Self.refusals.contains(where: text.contains) {
        .clientCertificateRejected
      } else {
        .secureConnectionFailed
      }
  }

  /// OpenSSL's names for the alerts by which a server refuses a client's certificate (RFC 8446 section 6.2).
  private static let refusals = [
    "alert bad certificate", "alert unsupported certificate", "alert certificate revoked", "alert certificate expired",
    "alert certificate unknown", "alert unknown ca", "alert access denied",
  ]

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

/// The cause of a failed transfer in Foundation's terms: names and numbers are those of its `URLError.Code`.
package enum FailureCode: Int, CaseIterable, Sendable {
  case unknown = -1
  case backgroundSessionRequiresSharedContainer = -995
  case backgroundSessionInUseByAnotherProcess = -996
  case backgroundSessionWasDisconnected = -997
  case cancelled = -999
  case badURL = -1000
  case timedOut = -1001
  case unsupportedURL = -1002
  case cannotFindHost = -1003
  case cannotConnectToHost = -1004
  case networkConnectionLost = -1005
  case dnsLookupFailed = -1006
  case httpTooManyRedirects = -1007
  case resourceUnavailable = -1008
  case notConnectedToInternet = -1009
  case redirectToNonExistentLocation = -1010
  case badServerResponse = -1011
  case userCancelledAuthentication = -1012
  case userAuthenticationRequired = -1013
  case zeroByteResource = -1014
  case cannotDecodeRawData = -1015
  case cannotDecodeContentData = -1016
  case cannotParseResponse = -1017
  case internationalRoamingOff = -1018
  case callIsActive = -1019
  case dataNotAllowed = -1020
  case requestBodyStreamExhausted = -1021
  case appTransportSecurityRequiresSecureConnection = -1022
  case fileDoesNotExist = -1100
  case fileIsDirectory = -1101
  case noPermissionsToReadFile = -1102
  case dataLengthExceedsMaximum = -1103
  case secureConnectionFailed = -1200
  case serverCertificateHasBadDate = -1201
  case serverCertificateUntrusted = -1202
  case serverCertificateHasUnknownRoot = -1203
  case serverCertificateNotYetValid = -1204
  case clientCertificateRejected = -1205
  case clientCertificateRequired = -1206
  case cannotLoadFromNetwork = -2000
  case cannotCreateFile = -3000
  case cannotOpenFile = -3001
  case cannotCloseFile = -3002
  case cannotWriteToFile = -3003
  case cannotRemoveFile = -3004
  case cannotMoveFile = -3005
  case downloadDecodingFailedMidStream = -3006
  case downloadDecodingFailedToComplete = -3007

  /// The code's name in snake case, fit for a metric: `cannot_find_host`.
  package var label: String { Self.labels[self] ?? snakeCase }

  /// Made once, by reflection: a failed request asks for its label several times.
  private static let labels = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.snakeCase) })

  private var snakeCase: String {
    var label = ""
    var isAfterCapital = true
    for octet in "\(self)".utf8 {
      let isCapital = 0x41...0x5A ~= octet
      if isCapital, !isAfterCapital { label += "_" }
      label.unicodeScalars.append(Unicode.Scalar(isCapital ? octet | 0x20 : octet))
      isAfterCapital = isCapital
    }
    return label
  }

  /// Whether a local file failed that was to be read, written or moved.
  package var isFileError: Bool {
    switch self {
    case .cannotCreateFile, .cannotOpenFile, .cannotCloseFile, .cannotWriteToFile, .cannotRemoveFile,
      .cannotMoveFile, .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile:
      true
    default: false
    }
  }
}

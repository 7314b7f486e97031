import Foundation
import Glibc
import WeirCompression
import WeirCurl

extension URLError {
  /// What libcurl or the engine says of a failed transfer, in Foundation's terms. The texts name no secret: libcurl's
  /// speak of hosts, ports and certificates only.
  init(_ error: TransferError, url: URL?, advice: TransferAdvice) {
    var info: [String: Any] = [NSLocalizedDescriptionKey: advice.text(of: error)]
    if let url { info[NSURLErrorFailingURLErrorKey] = Redaction.url(url) }
    info["weir.libcurl.code"] = Int(error.code.rawValue)
    if error.kind == .addressRefused { info[Self.destinationRefusedKey] = true }
    if error.isOwnDefect { info[Self.ownDefectKey] = true }
    self.init(Self.code(of: error), userInfo: info)
  }

  init(compression error: CompressionError) {
    let (code, text): (URLError.Code, String) =
      switch error {
      case .sizeLimit(let size):
        (.dataLengthExceedsMaximum, "the decoded body is larger than maximumDecompressedSize (\(size) bytes)")
      case .ratioLimit(let ratio):
        (.dataLengthExceedsMaximum, "the body expands more than maximumDecompressionRatio (\(ratio)) allows")
      case .truncated: (.cannotDecodeContentData, "the compressed body is truncated")
      case .corrupt(let text): (.cannotDecodeContentData, "the compressed body is corrupt: \(text)")
      case .outOfMemory, .misuse: (.cannotDecodeContentData, "the body could not be decompressed: \(error.label)")
      }
    self.init(code, userInfo: [NSLocalizedDescriptionKey: text])
  }

  private static let ownDefectKey = "weir.own.defect"

  /// Whether it is a defect of this process, and says nothing of the server.
  var isOwnDefect: Bool { code == .cannotLoadFromNetwork || errorUserInfo[Self.ownDefectKey] as? Bool ?? false }

  private static func code(of error: TransferError) -> URLError.Code {
    switch error.kind {
    case .curl: code(of: error.code, text: error.message, error.certificateDefect)
    case .silence: .timedOut
    case .headTooLarge: .dataLengthExceedsMaximum
    case .cancelled, .stopped, .engineClosed: .cancelled
    case .lengthMismatch, .engineFailed, .connectionLost: .networkConnectionLost
    case .conflictingLengths, .malformedHead, .refusedTransferEncoding, .unprovableEnd: .badServerResponse
    case .tunnelRefused(let status): code(ofTunnel: status)
    case .addressRefused, .noSocket: .cannotConnectToHost
    case .invalidRequest: .badURL
    case .bodyUnavailable: .requestBodyStreamExhausted
    // A connection was lost on which it could have been sent again.
    case .bodyNotRewindable: .networkConnectionLost
    case .fileUnavailable: code(ofFile: error.osErrno)
    }
  }

  private static func code(ofFile errno: Int32) -> URLError.Code {
    switch errno {
    case ENOENT, ENOTDIR: .fileDoesNotExist
    case EISDIR: .fileIsDirectory
    case EACCES, EPERM: .noPermissionsToReadFile
    default: .cannotOpenFile
    }
  }

  private static func code(of code: CurlCode, text: String, _ defect: CertificateDefect?) -> URLError.Code {
    switch code {
    // Mostly the other side's, whose answer speaks of no version of HTTP or of an unknown one.
    case .unsupportedProtocol: text.contains("HTTP") ? .badServerResponse : .unsupportedURL
    case .malformedURL: .badURL
    case .couldNotResolveHost, .couldNotResolveProxy: .cannotFindHost
    case .couldNotConnect, .proxy, .interfaceFailed: .cannotConnectToHost
    case .timedOut: .timedOut
    case .weirdServerReply, .chunkFailed: .badServerResponse
    // "Malformed encoding found in chunked-encoding", "chunk hex-length char not a hex digit" and the like.
    case .receiveError where text.contains("chunk"): .badServerResponse
    case .sendError, .receiveError: TLSFailure(text)?.code ?? .networkConnectionLost
    case .emptyReply, .partialFile, .http2Framing, .http2Stream, .sendRewindFailed: .networkConnectionLost
    case .tlsConnect: TLSFailure(text)?.code ?? .secureConnectionFailed
    case .tlsCipher, .tlsEngineInitFailed, .tlsEngineNotFound, .tlsEngineSetFailed: .secureConnectionFailed
    case .peerFailedVerification: certificateCode(defect)
    case .tlsIssuerError, .invalidCertificateStatus, .pinnedPublicKeyMismatch: .serverCertificateUntrusted
    case .badTrustRoots: .serverCertificateHasUnknownRoot
    case .clientCertificateProblem: .clientCertificateRejected
    case .clientCertificateRequired: .clientCertificateRequired
    case .fileSizeExceeded, .tooLarge: .dataLengthExceedsMaximum
    case .badContentEncoding: .cannotDecodeContentData
    case .tooManyRedirects: .httpTooManyRedirects
    case .abortedByCallback: .cancelled
    case .writeError: .cannotWriteToFile
    default: .unknown
    }
  }

  /// A proxy that wants other credentials, or doesn't make such tunnels, will say so again; one that fails may not.
  private static func code(ofTunnel status: Int) -> URLError.Code {
    switch status {
    case 407: .userAuthenticationRequired
    case 408, 429, 500...: .cannotConnectToHost
    default: .resourceUnavailable
    }
  }

  /// libcurl has one code for all that can be wrong with a certificate.
  private static func certificateCode(_ defect: CertificateDefect?) -> URLError.Code {
    switch defect {
    case .expired: .serverCertificateHasBadDate
    case .notYetValid: .serverCertificateNotYetValid
    case .unknownRoot: .serverCertificateHasUnknownRoot
    case .wrongHost, .other, nil: .serverCertificateUntrusted
    }
  }
}

extension DecodeLimits {
  init(_ configuration: SessionConfiguration) {
    self.init(size: configuration.maximumDecompressedSize, ratio: configuration.maximumDecompressionRatio)
  }
}

import WeirCompression
import WeirCurl

extension WeirError.RequestRejectionReason {
  init(_ rejection: Rejection) {
    self =
      switch rejection {
      case .circuitOpen(let delay): .circuitOpen(retryAfter: delay)
      case .queueFull: .queueFull
      case .admissionTimeout: .admissionTimeout
      case .overloaded(let reason, let delay): .overloaded(reason: reason, retryAfter: delay)
      case .noEndpoint: .noEndpoint
      }
  }

  /// The same reason as the transport's `Rejection`, which has the label and the text.
  var rejection: Rejection {
    switch self {
    case .circuitOpen(let delay): .circuitOpen(retryAfter: delay)
    case .queueFull: .queueFull
    case .admissionTimeout: .admissionTimeout
    case .overloaded(let reason, let delay): .overloaded(reason: reason, retryAfter: delay)
    case .noEndpoint: .noEndpoint
    }
  }
}

extension WeirError {
  /// Whether ``SessionConfiguration/destinationPolicy`` refused to connect.
  public var isDestinationRefused: Bool {
    (underlyingError as? URLError)?.isDestinationRefused ?? false
  }
}

extension URLError {
  private static let destinationRefusedKey = "weir.destination.refused"
  private static let ownDefectKey = "weir.own.defect"

  /// The failure of a transfer in Foundation's form. Its text names no secret.
  init(_ failure: TransferFailure, url: URL?) {
    var info: [String: Any] = [NSLocalizedDescriptionKey: failure.text]
    if let url { info[NSURLErrorFailingURLErrorKey] = Redaction.url(url) }
    if let code = failure.curlCode { info["weir.libcurl.code"] = Int(code.rawValue) }
    if failure.isDestinationRefused { info[Self.destinationRefusedKey] = true }
    if failure.isOwnDefect { info[Self.ownDefectKey] = true }
    self.init(Code(rawValue: failure.code.rawValue) ?? .unknown, userInfo: info)
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

  /// The code in the transport's terms, from which the transport decides what to do next.
  package var failureCode: FailureCode { FailureCode(rawValue: code.rawValue) ?? .unknown }

  /// Whether the failure is a defect of this process and says nothing about the server.
  var isOwnDefect: Bool { code == .cannotLoadFromNetwork || errorUserInfo[Self.ownDefectKey] as? Bool ?? false }

  /// Whether the policy of destinations refused to connect; it would refuse again. A flag of its own, since unreachable
  /// servers have the same code.
  var isDestinationRefused: Bool { errorUserInfo[Self.destinationRefusedKey] as? Bool ?? false }
}

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
  private static let proxyKey = "weir.proxy"
  private static let ofProxyKey = "weir.proxy.alone"

  /// The failure of a transfer in Foundation's form. Its text names no secret.
  init(_ failure: TransferFailure, url: URL?) {
    var info: [String: Any] = [NSLocalizedDescriptionKey: failure.text]
    if let url { info[NSURLErrorFailingURLErrorKey] = Redaction.url(url) }
    if let code = failure.curlCode { info["weir.libcurl.code"] = Int(code.rawValue) }
    if failure.isDestinationRefused { info[Self.destinationRefusedKey] = true }
    if failure.isOwnDefect { info[Self.ownDefectKey] = true }
    if let label = failure.proxyLabel { info[Self.proxyKey] = label }
    if failure.isOfProxy { info[Self.ofProxyKey] = true }
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

  /// The label of a failure of the proxy on the way, or of its tunnel; nil for others.
  var proxyLabel: String? { errorUserInfo[Self.proxyKey] as? String }

  /// Whether the proxy has failed or refused, which says nothing about the server.
  var isOfProxy: Bool { errorUserInfo[Self.ofProxyKey] as? Bool ?? false }

  /// Whether the policy of destinations refused to connect; it would refuse again. A flag of its own, since unreachable
  /// servers have the same code.
  var isDestinationRefused: Bool { errorUserInfo[Self.destinationRefusedKey] as? Bool ?? false }
}

extension RequestOutcome {
  /// The outcome of a request with that final error and the status of its last response.
  ///
  /// An error status explains failures that came after it (validation, serialization of an error page), so it takes
  /// precedence over them. It does not explain a cancel, a broken transfer or a full disk.
  public init(error: WeirError?, status: Int?) {
    let isErrorStatus = (status ?? 0) >= 400
    switch error {
    case nil: self = isErrorStatus ? .httpError : .success
    case .createUploadableFailed(let error) where Self.isFileError(error): self = .fileError
    case .createUploadableFailed, .createURLRequestFailed, .invalidURL, .multipartEncodingFailed,
      .parameterEncodingFailed, .parameterEncoderFailed, .urlRequestValidationFailed:
      self = .creationFailed
    case .requestAdaptationFailed: self = .adaptationFailed
    case .requestRejected: self = .rejected
    case .requestRetryFailed: self = .retryFailed
    case .responseValidationFailed where isErrorStatus, .responseSerializationFailed where isErrorStatus:
      self = .httpError
    case .responseValidationFailed(.unacceptableStatusCode(let code)) where code >= 400: self = .httpError
    case .responseValidationFailed(.dataFileNil), .responseValidationFailed(.dataFileReadFailed),
      .responseSerializationFailed(.inputFileNil), .responseSerializationFailed(.inputFileReadFailed):
      self = .fileError
    case .responseValidationFailed: self = .validationFailed
    case .responseSerializationFailed: self = .serializationFailed
    case .serverTrustEvaluationFailed: self = .tlsError
    case .downloadedFileMoveFailed: self = .fileError
    case .explicitlyCancelled: self = .cancelled
    case .sessionDeinitialized, .sessionInvalidated: self = .sessionEnded
    case .sessionTaskFailed(let error):
      self = Self((error as? URLError)?.failureCode ?? .unknown, hadResponse: status != nil)
    }
  }

  private static func isFileError(_ error: any Error) -> Bool {
    (error as? URLError)?.failureCode.isFileError ?? (error as? CocoaError)?.isFileError ?? false
  }
}

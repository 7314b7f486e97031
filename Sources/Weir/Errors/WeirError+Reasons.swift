extension WeirError {
  /// Why a multipart body could not be encoded.
  @nonexhaustive
  public enum MultipartEncodingFailureReason: Sendable {
    /// Not a file URL.
    case bodyPartURLInvalid(url: URL)
    /// The file URL lacks a name or an extension, from which the part's name and type are taken.
    case bodyPartFilenameInvalid(in: URL)
    /// The file is not there or not readable.
    case bodyPartFileNotReachable(at: URL)
    /// The file is not there or not readable, with the system's error.
    case bodyPartFileNotReachableWithError(atURL: URL, error: any Error)
    /// The URL is a directory.
    case bodyPartFileIsDirectory(at: URL)
    /// The file system gives no size.
    case bodyPartFileSizeNotAvailable(at: URL)
    /// Asking for the size failed.
    case bodyPartFileSizeQueryFailedWithError(forURL: URL, error: any Error)
    /// The file could not be opened.
    case bodyPartInputStreamCreationFailed(for: URL)
    /// The target could not be opened for writing.
    case outputStreamCreationFailed(for: URL)
    /// The target exists already.
    case outputStreamFileAlreadyExists(at: URL)
    /// The target is not a file URL.
    case outputStreamURLInvalid(url: URL)
    /// Writing failed.
    case outputStreamWriteFailed(error: any Error)
    /// Reading a part failed.
    case inputStreamReadFailed(error: any Error)
  }

  /// A part's stream gave more or fewer bytes than it was declared to have.
  public struct UnexpectedInputStreamLength: Error, Hashable {
    /// The declared length.
    public var bytesExpected: UInt64
    /// The number of bytes that the stream gave.
    public var bytesRead: UInt64

    /// Creates the error from both lengths, in bytes.
    public init(bytesExpected: UInt64, bytesRead: UInt64) {
      self.bytesExpected = bytesExpected
      self.bytesRead = bytesRead
    }
  }

  /// Why a `ParameterEncoding` failed.
  @nonexhaustive
  public enum ParameterEncodingFailureReason: Sendable {
    /// The request has no URL to carry the parameters.
    case missingURL
    /// The value can't be written as JSON.
    case jsonEncodingFailed(error: any Error)
    /// A custom encoding's own error.
    case customEncodingFailed(error: any Error)
  }

  /// Why a `ParameterEncoder` failed.
  @nonexhaustive
  public enum ParameterEncoderFailureReason: Sendable {
    /// A part of the request that an encoder needs.
    @nonexhaustive
    public enum RequiredComponent: Sendable, Hashable {
      /// A URL, to carry the parameters or to be sent to.
      case url
      /// A method, to decide where the parameters go; with the request's method as text.
      case httpMethod(rawValue: String)
    }

    /// The request lacks a part that the encoder needs.
    case missingRequiredComponent(RequiredComponent)
    /// The encoder's own error.
    case encoderFailed(error: any Error)
  }

  /// Why a request must not go on the wire.
  @nonexhaustive
  public enum URLRequestValidationFailureReason: Sendable, Hashable {
    /// A GET with a body.
    case bodyDataInGETRequest(Data)
    /// The name is not a token, or the value holds CR, LF or NUL (RFC 9110 section 5.5).
    case invalidHeaderField(name: String)
    /// The method is not a token (RFC 9110 section 9.1).
    case invalidMethod(String)
  }

  /// Why an attempt was not admitted.
  @nonexhaustive
  public enum RequestRejectionReason: Sendable, Hashable {
    /// The destination's circuit admits only a share of the attempts; seconds until one is admitted, if known.
    case circuitOpen(retryAfter: TimeInterval?)
    /// As many requests wait for the destination as `maximumPendingRequestsPerHost` allows.
    case queueFull
    /// The request waited longer than `admissionTimeout`.
    case admissionTimeout
    /// The destination gets more requests than it can answer in time (``SessionConfiguration/overload``), or than its pace
    /// allows (``SessionConfiguration/pace``). Unless it was a retry, nothing was sent, so any request may be repeated
    /// after `retryAfter` seconds.
    case overloaded(reason: ShedReason, retryAfter: TimeInterval)
    /// The request's origin has an ``EndpointGroup`` (``SessionConfiguration/endpoints``) without an endpoint that takes
    /// another attempt.
    case noEndpoint
  }

  /// Why a response did not pass validation.
  @nonexhaustive
  public enum ResponseValidationFailureReason: Sendable {
    /// There is no downloaded file.
    case dataFileNil
    /// The downloaded file's size could not be read.
    case dataFileReadFailed(at: URL)
    /// The response has no Content-Type, though one of a list was required.
    case missingContentType(acceptableContentTypes: [String])
    /// A Content-Type that is not on the list.
    case unacceptableContentType(acceptableContentTypes: [String], responseContentType: String)
    /// A status code that is not in the range.
    case unacceptableStatusCode(code: Int)
    /// A custom validation's own error.
    case customValidationFailed(error: any Error)
  }

  /// Why a response could not be turned into the value asked for.
  @nonexhaustive
  public enum ResponseSerializationFailureReason: Sendable {
    /// No body where one was needed.
    case inputDataNilOrZeroLength
    /// There is no downloaded file.
    case inputFileNil
    /// The downloaded file could not be read.
    case inputFileReadFailed(at: URL)
    /// The bytes are not valid text in that encoding.
    case stringSerializationFailed(encoding: String.Encoding)
    /// The response names a charset that is not known, with that name in lower case. A serializer's `encoding` takes
    /// precedence over it.
    case unknownCharset(String)
    /// The bytes are not JSON.
    case jsonSerializationFailed(error: any Error)
    /// The decoder failed.
    case decodingFailed(error: any Error)
    /// A custom serializer's or preprocessor's own error.
    case customSerializationFailed(error: any Error)
    /// An empty body was allowed, but the type has no empty value.
    case invalidEmptyResponse(type: String)
  }

  /// Why a server is not trusted.
  @nonexhaustive
  public enum ServerTrustFailureReason: Sendable {
    /// The TLS library's report.
    public struct Output: Sendable, Hashable {
      /// The host that was asked for.
      public let host: String
      /// libcurl's text.
      public let message: String
      /// libcurl's result code.
      public let code: Int

      /// Creates a report.
      public init(host: String, message: String, code: Int) {
        self.host = host
        self.message = message
        self.code = code
      }
    }

    /// All hosts must be evaluated and this one has no evaluator.
    case noRequiredEvaluator(host: String)
    /// The evaluator has no certificates.
    case noCertificatesFound
    /// The evaluator has no keys.
    case noPublicKeysFound
    /// The certificate chain is not trusted.
    case defaultEvaluationFailed(output: Output)
    /// The certificate is for another host.
    case hostValidationFailed(output: Output)
    /// None of the pinned keys is the server's.
    case publicKeyPinningFailed(host: String, pinnedKeys: [String])
    /// The authority's certificates can't be read.
    case certificateAuthorityInvalid(error: any Error)
    /// Evaluation is switched off for this host, and the session does not allow that.
    case insecureEvaluatorNotAllowed(host: String)
    /// A custom evaluator's own error.
    case customEvaluationFailed(error: any Error)
  }
}

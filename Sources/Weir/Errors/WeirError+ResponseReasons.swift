public import Foundation

extension WeirError {
  /// Why a response did not pass validation.
  @nonexhaustive
  public enum ResponseValidationFailureReason: Sendable {
    /// A download without a file.
    case dataFileNil
    /// The downloaded file's size could not be read.
    case dataFileReadFailed(at: URL)
    /// A response without Content-Type where one of a list was required.
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
    /// A download without a file.
    case inputFileNil
    /// The downloaded file could not be read.
    case inputFileReadFailed(at: URL)
    /// The bytes are no text in that encoding.
    case stringSerializationFailed(encoding: String.Encoding)
    /// The bytes are no JSON.
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
    /// What the TLS library said.
    public struct Output: Sendable, Hashable {
      public let host: String
      public let message: String
      /// libcurl's result code.
      public let code: Int

      public init(host: String, message: String, code: Int) {
        self.host = host
        self.message = message
        self.code = code
      }
    }

    /// All hosts must be evaluated and this one has no evaluator.
    case noRequiredEvaluator(host: String)
    /// An evaluator without certificates.
    case noCertificatesFound
    /// An evaluator without keys.
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

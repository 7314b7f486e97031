import Foundation
import FoundationNetworking
import Testing
import Weir

@Suite struct WeirErrorTests {
  @Test(arguments: ErrorSample.all)
  func label(sample: ErrorSample) {
    #expect(sample.error.label == sample.label)
  }

  @Test(arguments: ErrorSample.all)
  func textNamesWhatFailed(sample: ErrorSample) throws {
    let text = try #require(sample.error.errorDescription)
    for name in sample.names { #expect(text.contains(name)) }
    #expect(sample.error.localizedDescription == text)
    #expect("\(sample.error)" == "\(sample.label): \(text)")
    #expect(!text.contains("secret"))
    #expect(!text.contains("\n"))
  }

  @Test(arguments: [
    WeirError.invalidURL(url: "http://user:secret@[bad"),
    .invalidURL(url: "user:secret@h"),
    .sessionTaskFailed(
      error: URLError(.timedOut, userInfo: [NSLocalizedDescriptionKey: "http://user:secret@h/ timed out"])),
    .requestAdaptationFailed(error: WeirError.invalidURL(url: "http://u:secret@[")),
    .multipartEncodingFailed(reason: .bodyPartURLInvalid(url: URL(string: "http://u:secret@h/") ?? ErrorSample.file)),
  ])
  func textsHoldNoSecrets(error: WeirError) {
    #expect(error.errorDescription?.contains("secret") == false)
    #expect(error.errorDescription?.contains("<redacted>") == true)
    #expect(!"\(error)".contains("secret"))
    #expect(!String(reflecting: error).contains("secret"))
    #expect(!"\(Result<Void, WeirError>.failure(error))".contains("secret"))
  }

  @Test func labelsAreFewAndBounded() {
    for sample in ErrorSample.all {
      #expect(sample.error.label.allSatisfy { $0 == "_" || ("a"..."z").contains($0) })
    }
  }

  @Test func flagsAreTrueForTheirCaseOnly() {
    let flags: [(WeirError) -> Bool] = [
      \.isSessionDeinitializedError, \.isSessionInvalidatedError, \.isExplicitlyCancelledError, \.isInvalidURLError,
      \.isParameterEncodingError, \.isParameterEncoderError, \.isMultipartEncodingError, \.isRequestAdaptationError,
      \.isRequestRejectedError, \.isResponseValidationError, \.isResponseSerializationError,
      \.isServerTrustEvaluationError, \.isRequestRetryError, \.isCreateUploadableError, \.isCreateURLRequestError,
      \.isDownloadedFileMoveError, \.isSessionTaskError, \.isURLRequestValidationError,
    ]
    let errors: [WeirError] = [
      .sessionDeinitialized, .sessionInvalidated(error: nil), .explicitlyCancelled, .invalidURL(url: ""),
      .parameterEncodingFailed(reason: .missingURL), .parameterEncoderFailed(reason: .missingRequiredComponent(.url)),
      .multipartEncodingFailed(reason: .bodyPartFileIsDirectory(at: ErrorSample.file)),
      .requestAdaptationFailed(error: SampleError()), .requestRejected(reason: .queueFull),
      .responseValidationFailed(reason: .dataFileNil), .responseSerializationFailed(reason: .inputFileNil),
      .serverTrustEvaluationFailed(reason: .noCertificatesFound),
      .requestRetryFailed(retryError: SampleError(), originalError: SampleError()),
      .createUploadableFailed(error: SampleError()), .createURLRequestFailed(error: SampleError()),
      .downloadedFileMoveFailed(error: SampleError(), source: ErrorSample.file, destination: ErrorSample.file),
      .sessionTaskFailed(error: SampleError()), .urlRequestValidationFailed(reason: .invalidMethod("")),
    ]
    #expect(flags.count == errors.count)
    for (row, error) in errors.enumerated() {
      for (column, flag) in flags.enumerated() { #expect(flag(error) == (row == column), "\(error)") }
    }
  }

  @Test(arguments: ErrorSample.all)
  func underlyingErrorIsTheOneInTheCase(sample: ErrorSample) {
    let isNamed = sample.names.contains("sample reason")
    #expect((sample.error.underlyingError is SampleError) == isNamed)
    if sample.names.contains("no luck") { #expect(sample.error.underlyingError is URLError) }
  }

  @Test func underlyingErrorIsNilWhereThereIsNone() {
    let errors: [WeirError] = [
      .explicitlyCancelled, .invalidURL(url: ""), .sessionDeinitialized, .sessionInvalidated(error: nil),
      .urlRequestValidationFailed(reason: .invalidMethod("")), .requestRejected(reason: .queueFull),
    ]
    for error in errors { #expect(error.underlyingError == nil) }
  }

  @Test func propertiesAreNilForOtherCases() {
    let error = WeirError.explicitlyCancelled
    #expect(error.urlConvertible == nil)
    #expect(error.url == nil)
    #expect(error.acceptableContentTypes == nil)
    #expect(error.responseContentType == nil)
    #expect(error.responseCode == nil)
    #expect(error.failedStringEncoding == nil)
    #expect(error.sourceURL == nil)
    #expect(error.destinationURL == nil)
    #expect(error.downloadResumeData == nil)
  }

  @Test func propertiesOfTheirCases() {
    let file = ErrorSample.file
    let other = URL(fileURLWithPath: "/other")
    #expect(WeirError.invalidURL(url: "x").urlConvertible as? String == "x")
    #expect(WeirError.multipartEncodingFailed(reason: .outputStreamURLInvalid(url: file)).url == file)
    #expect(WeirError.multipartEncodingFailed(reason: .outputStreamWriteFailed(error: SampleError())).url == nil)
    let missing = WeirError.responseValidationFailed(reason: .missingContentType(acceptableContentTypes: ["a/b"]))
    #expect(missing.acceptableContentTypes == ["a/b"])
    #expect(missing.responseContentType == nil)
    let wrong = WeirError.responseValidationFailed(
      reason: .unacceptableContentType(acceptableContentTypes: ["a/b"], responseContentType: "c/d"))
    #expect(wrong.acceptableContentTypes == ["a/b"])
    #expect(wrong.responseContentType == "c/d")
    #expect(WeirError.responseValidationFailed(reason: .unacceptableStatusCode(code: 418)).responseCode == 418)
    let text = WeirError.responseSerializationFailed(reason: .stringSerializationFailed(encoding: .utf16))
    #expect(text.failedStringEncoding == .utf16)
    let move = WeirError.downloadedFileMoveFailed(error: SampleError(), source: file, destination: other)
    #expect(move.sourceURL == file)
    #expect(move.destinationURL == other)
    let resumable = URLError(.networkConnectionLost, userInfo: [WeirError.resumeDataKey: Data([1])])
    #expect(WeirError.sessionTaskFailed(error: resumable).downloadResumeData == Data([1]))
  }

  @Test(arguments: ErrorSample.all.filter { $0.names.contains("/dir/file") && $0.error.isMultipartEncodingError })
  func multipartErrorsKnowTheirFile(sample: ErrorSample) {
    #expect(sample.error.url == ErrorSample.file)
  }

  @Test(
    "A decoding error says what is wrong and where, and no value",
    arguments: [
      (#"{"orders": [{"price": 1}, {}]}"#, #"there is no "price" at orders[1]"#),
      (#"{"orders": [{"price": null}]}"#, "null is not of type Double at orders[0].price"),
      (#"{"orders": [{"price": "s3cret"}]}"#, "the value is not of type Double at orders[0].price"),
      (#"{"orders": 7}"#, "the value is not of type Array<Any> at orders"),
      (#"{"orders": [{"price": 1, "kind": "s3cret"}]}"#, "the value is not valid at orders[0].kind"),
      ("{", "The given data was not valid JSON."),
    ])
  func decodingErrors(body: String, text: String) throws {
    enum Kind: String, Decodable { case known }
    struct Order: Decodable {
      let price: Double
      let kind: Kind?
    }
    struct Orders: Decodable { let orders: [Order] }
    let error = try #require(throws: (any Error).self) { try JSONDecoder().decode(Orders.self, from: Data(body.utf8)) }
    let failure = WeirError.responseSerializationFailed(reason: .decodingFailed(error: error))
    #expect(failure.localizedDescription.hasSuffix("The body could not be decoded: \(text)"))
  }

  @Test func casts() {
    let error: any Error = WeirError.explicitlyCancelled
    #expect(error.asWeirError?.isExplicitlyCancelledError == true)
    #expect(error.asWeirError(orFailWith: "not one").isExplicitlyCancelledError)
    #expect(error.asWeirError(or: .sessionDeinitialized).isExplicitlyCancelledError)
    #expect(SampleError().asWeirError == nil)
    #expect(SampleError().asWeirError(or: .sessionDeinitialized).isSessionDeinitializedError)
  }

  @Test func aFailedCastTrapsWhereAsked() async {
    await #expect(processExitsWith: .failure) { _ = SampleError().asWeirError(orFailWith: "not one") }
  }
}

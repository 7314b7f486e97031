import Synchronization
import WeirIO

/// A request whose response body goes to a file.
///
/// Workers write the decoded body to a private temporary file; it is never whole in memory. When the body is complete,
/// whatever the status, the file is moved to the place that the request's ``Destination`` returns. Validation follows.
/// A download that was cut off can often continue from there: see ``resumeData``.
///
/// `@unchecked Sendable`: see ``Request``; this class adds constants, values in a `Mutex`, and state bound to the loop.
public final class DownloadRequest: Request, @unchecked Sendable {
  /// Permissions for moving the file to its destination.
  public struct Options: OptionSet, Sendable {
    /// The options as bits, one for each.
    public let rawValue: Int

    /// Makes a set of options from its bits.
    public init(rawValue: Int) {
      self.rawValue = rawValue
    }

    /// Creates the directories above the file if they are missing.
    public static let createIntermediateDirectories = Options(rawValue: 1 << 0)
    /// Replaces a file of the same name atomically: there is the old file or the new one. Directories are never
    /// removed.
    public static let removePreviousFile = Options(rawValue: 1 << 1)
  }

  /// Returns the file's destination, given the temporary file and the response's head. Runs on ``Session/rootQueue``,
  /// else on the event loop. A worker moves the file afterwards.
  public typealias Destination =
    @Sendable (_ temporaryURL: URL, _ response: HTTPURLResponse) -> (destinationURL: URL, options: Options)

  /// The start of a download: a request or resume data.
  public enum Downloadable: Sendable {
    /// Makes the URL request of each attempt.
    case request(any URLRequestConvertible)
    /// The resume data of an earlier download: see ``DownloadRequest/resumeData``.
    case resumeData(Data)
  }

  /// Says whether a response with its body in a file is acceptable. An error that is a ``WeirError`` is kept; any other
  /// becomes ``WeirError/ResponseValidationFailureReason/customValidationFailed(error:)``.
  public typealias Validation = @Sendable (URLRequest?, HTTPURLResponse, URL?) -> ValidationResult

  /// The request or resume data with which the download began.
  public let downloadable: Downloadable
  let fileDestination: Destination
  let directory: PartialDirectory
  let lane: FileLane
  let result = Mutex(DownloadResult())
  private let progress: LoopBound<DownloadProgress>

  init(
    downloadable: Downloadable, context: SessionContext, interceptor: (any RequestInterceptor)?,
    shouldAutomaticallyResume: Bool?, destination: Destination?
  ) {
    self.downloadable = downloadable
    fileDestination = destination ?? Self.defaultDestination
    directory = PartialDirectory(context.configuration.downloadDirectory)
    lane = FileLane(workers: context.workers)
    progress = LoopBound(DownloadProgress(), on: context.loop)
    super.init(
      context: context, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
  }

  /// Used on the loop.
  var flow: DownloadProgress { progress.value }

  var resumes: Bool { if case .resumeData = downloadable { true } else { false } }

  /// The URL of the file once it has been moved; the file stays there even if validation then fails.
  public var fileURL: URL? { result.withLock { $0.fileURL } }

  /// The data with which ``Session/download(resumingWith:interceptor:shouldAutomaticallyResume:to:)`` continues a
  /// download that failed, or that was cancelled to produce resume data.
  ///
  /// There is resume data if the server can send the rest alone and say that it belongs to the same file. That takes a
  /// GET answered with 200, or with the rest that was asked for, without a content coding and with a strong `ETag` or a
  /// `Last-Modified`. Resume data holds no credentials. As long as it can be used, a partial file stays in the
  /// temporary directory; a resumed download takes that file.
  public var resumeData: Data? {
    let (hasFailed, isCancelled) = fields.withLock { ($0.error != nil, $0.machine.state == .cancelled) }
    return result.withLock { $0.remains(hasFailed: hasFailed, isCancelled: isCancelled) }
  }

  // MARK: Cancelling

  /// Cancels the request, and keeps the bytes received so far if the server allows the download to be resumed.
  ///
  /// - Parameter shouldProduceResumeData: False keeps nothing, as `cancel()` does.
  @discardableResult
  public func cancel(producingResumeData shouldProduceResumeData: Bool) -> Self {
    if shouldProduceResumeData { result.withLock { if !$0.isSettled { $0.wantsResumeData = true } } }
    return cancel()
  }

  /// Cancels the request, and calls back with its resume data.
  ///
  /// - Parameter completionHandler: Called once, on ``Session/completionQueue``; with nil if the download can't be
  ///   resumed.
  @preconcurrency
  @discardableResult
  public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) -> Self {
    let (isSettled, data) = result.withLock { result in
      if !result.isSettled {
        result.wantsResumeData = true
        result.waiting.append(completionHandler)
      }
      return (result.isSettled, result.resumeData)
    }
    if isSettled { context.queues.completion.async { completionHandler(data) } }
    return cancel()
  }

  // MARK: The pipeline's hooks

  override var fileOffset: Int64? { flow.sink?.offset ?? 0 }

  /// Building the URL request of a resumed download reads the partial file, so a worker does it.
  override var requestExecutor: Executor? {
    guard case .resumeData(let data) = downloadable else { return nil }
    return { [self] work in whenFree(data, until: MonotonicTime.now.advanced(bySeconds: Self.patience), work) }
  }

  override func makeURLRequest() throws -> URLRequest {
    switch downloadable {
    case .request(let convertible): try convertible.asURLRequest()
    case .resumeData(let data): try resumedRequest(data)
    }
  }

  override func startsOver(after response: LazyHTTPResponse, to urlRequest: URLRequest) -> URLRequest? {
    guard verdict(on: response) == .askAgain else { return nil }
    dropPartial()
    var next = urlRequest
    next.setValue(nil, forHTTPHeaderField: "Range")
    next.setValue(nil, forHTTPHeaderField: "If-Range")
    return next
  }

  override func receive(_ response: LazyHTTPResponse) -> BodyFlow {
    begin(response)
    return .proceed
  }

  override func receive(_ bytes: UnsafeRawBufferPointer) -> BodyFlow { take(bytes) }

  override func bodyEnded(_ failure: URLError?, of runner: TaskRunner) -> Bool { end(failure, runner) }

  override var mayRunTwice: Bool { !resumes }

  override func amended(_ error: WeirError) -> WeirError { telling(error) }

  override func reset() { startAnew() }

  override func settled() { cleanUp() }
}

/// The results of a download, for any thread.
struct DownloadResult: Sendable {
  var fileURL: URL?
  /// The size of the file at `fileURL`; nil if it could not be read.
  var fileSize: Int64?
  /// The resume data of the last attempt, or of the request once it has settled.
  var resumeData: Data?
  /// Whether a caller of `cancel` wants resume data.
  var wantsResumeData = false
  /// The handlers that wait for the resume data.
  var waiting: [@Sendable (Data?) -> Void] = []
  var isSettled = false
  var plan = ResumePlan.unread
  /// The partial file that the last URL request was made for, until the loop takes it.
  var opened: PartialFile?

  /// The resume data that the request would leave if it ended now.
  func remains(hasFailed: Bool, isCancelled: Bool) -> Data? {
    if isSettled { return resumeData }
    guard !isCancelled || wantsResumeData else { return nil }
    if let resumeData { return resumeData }
    // Resume data that was not used up serves another request.
    guard hasFailed, case .rest(let untouched) = plan else { return nil }
    return untouched.data
  }
}

/// The part of the file that the URL request of a resumed download asks for.
enum ResumePlan: Sendable {
  /// The resume data was not read yet.
  case unread
  /// The rest. The partial file is unchanged so far.
  case rest(ResumeData)
  /// The rest, which is being appended to the partial file.
  case appending(ResumeData)
  case whole(URLRequest)

  /// The resume data of the rest, if a rest is asked for.
  var rest: ResumeData? {
    switch self {
    case .rest(let data), .appending(let data): data
    case .unread, .whole: nil
    }
  }
}

/// The state of a download under way. Lives on the loop.
final class DownloadProgress {
  /// The sink of the present response.
  var sink: DownloadSink?
  var sinkCount = 0
  /// The partial file that the present attempt is to continue.
  var partial: OpenPartial?
  /// The partial file that the last attempt left, with its resume data.
  var left: (file: PartialFile, data: ResumeData)?
  /// The file of the last attempt, at its destination.
  var moved: PartialFile?
}

/// A partial file whose rest was asked for.
struct OpenPartial {
  let file: PartialFile
  let data: ResumeData

  var rule: ResumeRule { ResumeRule(offset: data.offset, validator: data.validator, total: data.total) }
}

extension DownloadRequest {
  /// A destination in one of the user's directories, under the name that the response suggests: by its
  /// `Content-Disposition`, else by its URL. Path separators and control characters are removed from the name, so that
  /// it stays in that directory. If the response suggests no name, or the system has no such directory, the file stays
  /// where it is.
  ///
  /// - Parameters:
  ///   - directory: Default: the documents directory.
  ///   - domain: Default: the user's own domain.
  ///   - options: Default: none, so that an existing file of that name makes the download fail.
  public static func suggestedDownloadDestination(
    for directory: FileManager.SearchPathDirectory = .documentDirectory,
    in domain: FileManager.SearchPathDomainMask = .userDomainMask, options: Options = []
  ) -> Destination {
    // Looked up here, since the loop must not read from disk.
    let directory = FileManager.default.urls(for: directory, in: domain).first
    return { temporaryURL, response in
      guard let directory, let name = SuggestedFileName(response) else { return (temporaryURL, options) }
      return (directory.appending(path: name.text, directoryHint: .notDirectory), options)
    }
  }

  /// A destination beside the temporary file, under a name that can't be mistaken for a temporary file's.
  static let defaultDestination: Destination = { temporaryURL, _ in
    let name = "Weir_\(temporaryURL.lastPathComponent)"
    let directory = temporaryURL.deletingLastPathComponent()
    return (directory.appending(path: name, directoryHint: .notDirectory), [])
  }
}

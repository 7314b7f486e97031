import Synchronization
import WeirIO

/// A request whose response body goes to a file.
///
/// The body is written to a private temporary file, decoded, by workers; it is never whole in memory. When it is complete,
/// whatever the status, and before validation, the file is moved to where the request's ``Destination`` says. A download
/// that is cut off can often go on where it ended: see ``resumeData``.
///
/// `@unchecked Sendable`: see ``Request``; this class adds constants, values in a `Mutex`, and what is bound to the loop.
public final class DownloadRequest: Request, @unchecked Sendable {
  /// What may be done to give the file its place.
  public struct Options: OptionSet, Sendable {
    /// One bit for each.
    public let rawValue: Int

    /// Takes the bits of several options.
    public init(rawValue: Int) {
      self.rawValue = rawValue
    }

    /// Makes the directories above the file where they are missing.
    public static let createIntermediateDirectories = Options(rawValue: 1 << 0)
    /// Replaces a file of the same name, at once: there is the old file or the new one. Directories are never removed.
    public static let removePreviousFile = Options(rawValue: 1 << 1)
  }

  /// Says where the file goes, by the temporary file and the response's head. Runs on ``Session/rootQueue``, else on the
  /// event loop. The file itself is moved afterwards, by a worker.
  public typealias Destination =
    @Sendable (_ temporaryURL: URL, _ response: HTTPURLResponse) -> (destinationURL: URL, options: Options)

  /// What a download begins with.
  public enum Downloadable: Sendable {
    /// What gives the URL request of each attempt.
    case request(any URLRequestConvertible)
    /// What an earlier download left behind: see ``DownloadRequest/resumeData``.
    case resumeData(Data)
  }

  /// Says whether a response is acceptable, its body in a file; its error is kept if it is a ``WeirError``, else it becomes
  /// ``WeirError/ResponseValidationFailureReason/customValidationFailed(error:)``.
  public typealias Validation = @Sendable (URLRequest?, HTTPURLResponse, URL?) -> ValidationResult

  /// What the download began with.
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

  /// On the loop.
  var flow: DownloadProgress { progress.value }

  var resumes: Bool { if case .resumeData = downloadable { true } else { false } }

  /// Where the body is, once it has been moved there; it stays there when validation then fails.
  public var fileURL: URL? { result.withLock { $0.fileURL } }

  /// What ``Session/download(resumingWith:interceptor:shouldAutomaticallyResume:to:)`` goes on with, after a transfer that
  /// failed, or that was cancelled producing it.
  ///
  /// There is some when the server can send the rest alone and say that it belongs to the same file: for a GET answered
  /// with 200, or with the rest that was asked for, without a content coding, with a strong `ETag` or a `Last-Modified`.
  /// It holds no credentials. As long as it may be used, a file waits in the temporary directory; a resumed download takes
  /// it.
  public var resumeData: Data? {
    let (hasFailed, isCancelled) = fields.withLock { ($0.error != nil, $0.machine.state == .cancelled) }
    return result.withLock { $0.remains(hasFailed: hasFailed, isCancelled: isCancelled) }
  }

  // MARK: Cancelling

  /// Cancels the request, and keeps what has come so far if the server allows to go on from there.
  ///
  /// - Parameter shouldProduceResumeData: False: nothing is kept, as with `cancel()`.
  @discardableResult
  public func cancel(producingResumeData shouldProduceResumeData: Bool) -> Self {
    if shouldProduceResumeData { result.withLock { if !$0.isSettled { $0.wantsResumeData = true } } }
    return cancel()
  }

  /// Cancels the request, and tells what it can be resumed with.
  ///
  /// - Parameter completionHandler: Called once, on ``Session/completionQueue``; with nil when there is nothing to go on
  ///   from.
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

  /// The partial file is looked at then.
  override var requestExecutor: ((@escaping @Sendable () -> Void) -> Void)? {
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

  override func bodyEnded(_ failure: URLError?, of attempt: RequestAttempt) -> Bool { end(failure, attempt) }

  override var mayRunTwice: Bool { !resumes }

  override func amended(_ error: WeirError) -> WeirError { telling(error) }

  override func reset() { startAnew() }

  override func settled() { cleanUp() }
}

/// What came of a download, for any thread.
struct DownloadResult: Sendable {
  var fileURL: URL?
  /// Of the file at `fileURL`; nil when it could not be read.
  var fileSize: Int64?
  /// What the last attempt left; once settled, what the request leaves.
  var resumeData: Data?
  /// Whether somebody who cancels wants it.
  var wantsResumeData = false
  /// Those who wait for it.
  var waiting: [@Sendable (Data?) -> Void] = []
  var isSettled = false
  var plan = ResumePlan.unread
  /// The partial file that the last URL request was made for, until the loop takes it.
  var opened: PartialFile?

  /// What the request leaves if it ends as things are.
  func remains(hasFailed: Bool, isCancelled: Bool) -> Data? {
    if isSettled { return resumeData }
    guard !isCancelled || wantsResumeData else { return nil }
    if let resumeData { return resumeData }
    // What was not gone on with serves another request.
    guard hasFailed, case .rest(let untouched) = plan else { return nil }
    return untouched.data
  }
}

/// What the URL request of a resumed download asks for.
enum ResumePlan: Sendable {
  /// The resume data have not been looked at.
  case unread
  /// The rest; what is there is as it was left.
  case rest(ResumeData)
  /// The rest, which is being written behind what is there.
  case appending(ResumeData)
  case whole(URLRequest)
}

/// A download on its way. Lives on the loop.
final class DownloadProgress {
  /// The present response's.
  var sink: DownloadSink?
  var sinkCount = 0
  /// What an attempt was to go on with.
  var partial: OpenPartial?
  /// What the last attempt left to go on with.
  var left: (file: PartialFile, data: ResumeData)?
  /// The file of the last attempt in its last place.
  var moved: PartialFile?

  init() {}
}

/// A partial file of which the rest is asked for.
struct OpenPartial {
  let file: PartialFile
  let data: ResumeData

  var rule: ResumeRule { ResumeRule(offset: data.offset, validator: data.validator, total: data.total) }
}

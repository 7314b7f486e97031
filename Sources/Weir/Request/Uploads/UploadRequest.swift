import Synchronization
import WeirIO

/// A request that sends data, a file or a stream as its body, and keeps the response's body in memory.
///
/// The uploadable is the body, whatever body the URL request has. It is made after the URL request was adapted, and
/// again for each retry. Workers open and read files.
///
/// `@unchecked Sendable`: see ``Request``; this class adds constants and a `Mutex`.
public final class UploadRequest: DataRequest, @unchecked Sendable {
  /// Makes the body of each attempt.
  public let upload: any UploadableConvertible
  /// Removes the temporary files.
  public let fileManager: FileManager
  private let bodies = Mutex(UploadBodies())

  init(
    upload: any UploadableConvertible, convertible: any URLRequestConvertible, context: SessionContext,
    interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?, fileManager: FileManager
  ) {
    self.upload = upload
    self.fileManager = fileManager
    super.init(
      source: .convertible(convertible), context: context, interceptor: interceptor,
      shouldAutomaticallyResume: shouldAutomaticallyResume)
  }

  deinit {
    // Needed only for a request that never began; any other has removed its files when it ended.
    removeFiles()
  }

  /// The body of the last attempt; nil until it is made.
  public var uploadable: Uploadable? { bodies.withLock { $0.present?.uploadable } }

  // MARK: The pipeline's hooks

  override var mayBeCached: Bool { false }

  /// The executor for building a form's URL request, as encoding the form reads files.
  override var requestExecutor: Executor? {
    upload is MultipartUpload && context.queues.bodies == nil ? context.readers.executor : nil
  }

  override func makeURLRequest() throws -> URLRequest {
    var urlRequest = try super.makeURLRequest()
    if let form = (upload as? MultipartUpload)?.uploadable?.temporaryFile { takeOver(form) }
    // A request without a URL is refused later; changing it traps in Foundation.
    guard urlRequest.url != nil else { return urlRequest }
    // The uploadable is the body. Another body would be compressed or described, or sent when a redirect drops ours.
    if urlRequest.httpBody != nil {
      try urlRequest.validate()
      urlRequest.httpBody = nil
    }
    urlRequest.httpBodyStream = nil
    return urlRequest
  }

  override func prepareBody(for hop: HopRequest, _ step: RequestMachine.Step, in pipeline: RequestPipeline) -> Bool {
    switch givenUploadable {
    case .data?, .stream?: pipeline.uploadableMade(makeBody(), of: self, for: hop, step)
    case .file?: makeBody(on: context.workers, for: hop, step)
    // The caller's code may block, so it runs on the workers for readers.
    case nil: makeBody(on: context.readers, for: hop, step)
    }
    return true
  }

  private func makeBody(on workers: WorkerPool, for hop: HopRequest, _ step: RequestMachine.Step) {
    let make: @Sendable () -> Void = { [self] in
      let body = makeBody()
      onPipeline { $0.uploadableMade(body, of: self, for: hop, step) }
    }
    if let queue = context.queues.bodies { queue.async(execute: make) } else { workers.submit(make) }
  }

  override func makeBody(of hop: HopRequest) -> AttemptBody {
    guard let body = bodies.withLock({ $0.present }) else { return .none }
    if case .stream(let stream)? = body.coded { return .stream(stream, length: nil) }
    if let coding = body.coding {
      // If the body can't be compressed, it can't be sent: reading the stream fails with the reason.
      return body.plainStream.map { .stream(CodedUpload.stream($0, coding), length: nil) } ?? .none
    }
    return switch body.uploadable {
    case .data(let data): .data(data)
    case .file(let url, _): .file(path: url.path, size: body.fileSize)
    case .stream(let stream): .stream(stream, length: stream.length(in: hop))
    }
  }

  override func describedBody(of hop: HopRequest) -> CURLBody {
    let body = bodies.withLock { $0.present }
    guard let uploadable = body?.uploadable ?? givenUploadable else { return .unmade }
    if let coding = body?.coding {
      return .input(length: nil, what: "compressed by \(coding.rawValue) while it is sent")
    }
    return switch uploadable {
    case .data(let data): .data(data)
    case .file(let url, let isTemporary): .file(url, isTemporary: isTemporary)
    case .stream(let stream): .input(length: stream.length(in: hop), what: "a stream")
    }
  }

  /// The body if it is there without a call of the caller's code: it was passed as it is, or its form is encoded.
  private var givenUploadable: Uploadable? { upload as? Uploadable ?? (upload as? MultipartUpload)?.uploadable }

  /// A stream passed by the caller can be read once. A convertible that makes streams makes a new one, and weir makes
  /// new ones of data and files that it compresses.
  override var makesBodyAnew: Bool { if case .stream? = upload as? Uploadable { false } else { true } }

  override func reset() {
    let former = bodies.withLock { bodies in
      defer { bodies.present = nil }
      return bodies.present
    }
    // Released outside the lock: the body is the caller's, and its `deinit` may do anything.
    withExtendedLifetime(former) {}
  }

  override func settled() {
    removeFiles()
    // A sequence of which nothing was asked is let go of as well; its producer may wait for that.
    for case .stream(let stream as SequenceInputStream)? in [uploadable, upload as? Uploadable] {
      if stream.streamStatus == .notOpen { stream.close() }
    }
  }

  /// Sets the body of the attempt that begins.
  func begin(with body: UploadBody) {
    bodies.withLock { $0.present = body }
  }

  // MARK: Bodies

  private func makeBody() -> Result<UploadBody, WeirError> {
    do {
      let uploadable = try upload.createUploadable()
      guard case .file(let url, let isTemporary) = uploadable else {
        return .success(UploadBody(uploadable: uploadable))
      }
      if isTemporary { takeOver(url) }
      return .success(UploadBody(uploadable: uploadable, fileSize: try UploadFile.size(of: url)))
    } catch {
      return .failure(error.asWeirError(or: .createUploadableFailed(error: error)))
    }
  }

  /// Has a file removed when the request ends, or now if it has ended. Not called on the loop.
  private func takeOver(_ file: URL) {
    if !bodies.withLock({ $0.keep(file) }) { UploadFile.remove(file, by: fileManager) }
  }

  /// Removes the temporary files, including one that was given with the request and never used.
  private func removeFiles() {
    let given = (upload as? Uploadable)?.temporaryFile
    let files = bodies.withLock { bodies in
      if let given, !bodies.keep(given) { return [] as Set<URL> }
      return bodies.end()
    }
    guard !files.isEmpty else { return }
    context.workers.submit { [fileManager] in
      for file in files { UploadFile.remove(file, by: fileManager) }
    }
  }
}

/// A body that was made, with its file's size.
struct UploadBody: Sendable {
  let uploadable: UploadRequest.Uploadable
  /// The size of a file when the attempt began; that many bytes of it are sent.
  var fileSize: Int64 = 0
  /// The content coding in which the body is sent; nil: none.
  var coding: RequestCoding?
  /// The compressed body of a stream, which can be read once; other bodies are compressed anew for each hop.
  var coded: UploadRequest.Uploadable?

  /// The body in memory; nil for a file or a stream.
  var data: Data? { if case .data(let data) = uploadable { data } else { nil } }
}

/// The bodies that a request has made: the present attempt's, and the files to be removed when the request has ended.
struct UploadBodies {
  /// The present attempt's body; nil until it is made, also for each retry.
  var present: UploadBody?
  private var files: Set<URL> = []
  private(set) var isOver = false

  /// Takes a file over, to be removed at the end. False: the request has ended, so the caller has to remove the file.
  mutating func keep(_ file: URL) -> Bool {
    if !isOver { files.insert(file) }
    return !isOver
  }

  /// The files to be removed; empty on the second call.
  mutating func end() -> Set<URL> {
    isOver = true
    defer { files = [] }
    return files
  }
}

/// Makes an upload's body, between adaptation and the task.
extension RequestPipeline {
  /// The body was made or could not be. The attempt continues unless the request has moved on meanwhile.
  func uploadableMade(
    _ result: Result<UploadBody, WeirError>, of upload: UploadRequest, for hop: HopRequest, _ step: RequestMachine.Step
  ) {
    guard decide({ $0.isWaiting(in: step) }) else { return }
    switch result {
    case .success(let body): code(body, of: upload, for: hop, step)
    case .failure(let error):
      creationFailed(error, step) { monitors.request(upload, didFailToCreateUploadableWithError: $0) }
    }
  }

  /// Asks the adapters that compress bodies about this one.
  private func code(
    _ body: UploadBody, of upload: UploadRequest, for hop: HopRequest, _ step: RequestMachine.Step
  ) {
    let adapters = core.adapters(of: request)
    guard adapters.compressUploads else {
      return coded(.success((hop: hop, coding: nil)), body, of: upload, for: hop, step)
    }
    let ask: @Sendable () -> Result<CodedHop, any Error> = {
      Result {
        var urlRequest = hop.urlRequest
        let coding = try adapters.codeUpload(&urlRequest, data: body.data)
        return (hop: coding == nil ? hop : HopRequest(urlRequest), coding: coding)
      }
    }
    guard let executor = codingExecutor(body) else { return coded(ask(), body, of: upload, for: hop, step) }
    executor { [request] in
      let result = ask()
      request.onPipeline { $0.coded(result, body, of: upload, for: hop, step) }
    }
  }

  private typealias CodedHop = (hop: HopRequest, coding: RequestCoding?)

  /// The executor on which a caller's closure is asked about a body, as a large one may take long; nil: the loop.
  private func codingExecutor(_ body: UploadBody) -> Executor? {
    guard let data = body.data else { return nil }
    return context.queues.bodies?.executor ?? (data.count > 64 << 10 ? context.readers.executor : nil)
  }

  private func coded(
    _ result: Result<CodedHop, any Error>, _ body: UploadBody, of upload: UploadRequest, for hop: HopRequest,
    _ step: RequestMachine.Step
  ) {
    guard decide({ $0.isWaiting(in: step) }) else { return }
    switch result {
    case .success((let codedHop, let coding)):
      var body = body
      if let coding {
        body.coding = coding
        if case .stream(let plain) = body.uploadable { body.coded = .stream(CodedUpload.stream(plain, coding)) }
        request.fields.withLock { $0.attempt?.adapted = codedHop }
      }
      upload.begin(with: body)
      monitors.request(upload, didCreateUploadable: body.uploadable)
      guard decide({ $0.isWaiting(in: step) }) else { return }
      bodyIsReady(for: codedHop, step)
    case .failure(let error):
      creationFailed(.requestAdaptationFailed(error: error), step) {
        monitors.request(request, didFailToAdaptURLRequest: hop.urlRequest, withError: $0)
      }
    }
  }
}

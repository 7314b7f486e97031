import Synchronization
import WeirIO

/// A request that sends data, a file or a stream as its body, and keeps the response's body in memory.
///
/// The uploadable is the body, whatever the URL request says. It is made after the URL request was adapted, again for
/// each retry; files are opened and read by workers.
///
/// `@unchecked Sendable`: see ``Request``; this class adds constants and a `Mutex`.
public final class UploadRequest: DataRequest, @unchecked Sendable {
  /// What gives the body of each attempt.
  public let upload: any UploadableConvertible
  /// Removes the files that are to be removed.
  public let fileManager: FileManager
  private let bodies = Mutex(UploadBodies())

  init(
    upload: any UploadableConvertible, convertible: any URLRequestConvertible, context: SessionContext,
    interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?, fileManager: FileManager
  ) {
    self.upload = upload
    self.fileManager = fileManager
    super.init(
      convertible: convertible, context: context, interceptor: interceptor,
      shouldAutomaticallyResume: shouldAutomaticallyResume)
  }

  deinit {
    // Only of one that never began; others have ended before they go.
    removeFiles()
  }

  /// The body of the last attempt; nil until it is made.
  public var uploadable: Uploadable? { bodies.withLock { $0.present?.uploadable } }

  // MARK: The pipeline's hooks

  override var mayBeCached: Bool { false }

  /// Encoding a form reads files.
  override var requestExecutor: ((@escaping @Sendable () -> Void) -> Void)? {
    guard upload is MultipartUpload, context.queues.request == nil else { return nil }
    return { [readers = context.readers] work in readers.submit(work) }
  }

  override func makeURLRequest() throws -> URLRequest {
    var urlRequest = try super.makeURLRequest()
    if let form = (upload as? MultipartUpload)?.uploadable?.temporaryFile { takeOver(form) }
    // What has no URL is refused later; changing it traps in Foundation.
    guard urlRequest.url != nil else { return urlRequest }
    // The uploadable is the body. Another one would be compressed, described, or sent where a redirect drops ours.
    if urlRequest.httpBody != nil {
      try urlRequest.validate()
      urlRequest.httpBody = nil
    }
    urlRequest.httpBodyStream = nil
    return urlRequest
  }

  override func prepareBody(for hop: HopRequest, _ step: RequestMachine.Step, in pipeline: RequestPipeline) -> Bool {
    switch upload as? Uploadable ?? (upload as? MultipartUpload)?.uploadable {
    case .data?, .stream?: pipeline.uploadableMade(makeBody(), of: self, for: hop, step)
    case .file?: makeBody(on: context.workers, for: hop, step)
    // The caller's code may wait for somebody.
    case nil: makeBody(on: context.readers, for: hop, step)
    }
    return true
  }

  private func makeBody(on workers: WorkerPool, for hop: HopRequest, _ step: RequestMachine.Step) {
    let make: @Sendable () -> Void = { [self] in
      let body = makeBody()
      onPipeline { $0.uploadableMade(body, of: self, for: hop, step) }
    }
    if let queue = context.queues.request { queue.async(execute: make) } else { workers.submit(make) }
  }

  override func makeBody(of urlRequest: URLRequest) -> AttemptBody {
    guard let body = bodies.withLock({ $0.present }) else { return .none }
    if case .stream(let stream)? = body.coded { return .stream(stream, length: nil) }
    if let coding = body.coding {
      // A body that can't be compressed can't be sent: the stream says why, when it is read.
      return body.plainStream.map { .stream(CodedUpload.stream($0, coding), length: nil) } ?? .none
    }
    return switch body.uploadable {
    case .data(let data): .data(data)
    case .file(let url, _): .file(path: url.path, size: body.fileSize)
    case .stream(let stream): .stream(stream, length: BodyStream.length(of: urlRequest))
    }
  }

  /// A stream that was given can be read once; somebody who makes streams makes another, as do we of data and files that
  /// are compressed.
  override var makesBodyAnew: Bool { if case .stream? = upload as? Uploadable { false } else { true } }

  override func reset() {
    let former = bodies.withLock { bodies in
      defer { bodies.present = nil }
      return bodies.present
    }
    // Let go of outside of the lock: it is the caller's.
    withExtendedLifetime(former) {}
  }

  override func settled() { removeFiles() }

  /// The body of the attempt that begins.
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

  /// Has a file removed when the request ends, or now when it has. Not on the loop.
  private func takeOver(_ file: URL) {
    if !bodies.withLock({ $0.keep(file) }) { UploadFile.remove(file, by: fileManager) }
  }

  /// Also one that was given with the request and never asked for.
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

import Dispatch
import Synchronization
import WeirIO

/// The end of an attempt, and what it leaves behind. All on the loop but for what is said otherwise.
extension DownloadRequest {
  /// What is to be kept of a body that is not whole.
  private enum Wish {
    /// Nothing, and nobody waits for that.
    case nothing
    /// Nothing; the file is gone before anybody hears of the failure.
    case removal
    /// All that came.
    case all
    /// What is known to be written: the outcome is fixed, and waits for no worker.
    case written
  }

  private func wish(_ failure: URLError, _ attempt: RequestAttempt) -> Wish {
    let error = fields.withLock { $0.error }
    switch (failure.code, error) {
    case (.cannotWriteToFile, _), (.dataLengthExceedsMaximum, _), (.cannotDecodeContentData, _): return .removal
    case (.cancelled, .explicitlyCancelled?):
      if !result.withLock({ $0.wantsResumeData }) { return .nothing }
      return attempt.attempt.hasGivenUp ? .written : .all
    // The deadline, of which the transfer knows nothing.
    case (.cancelled, .sessionTaskFailed?): return .written
    // The task alone was cancelled, or the session has gone.
    case (.cancelled, _): return error == nil ? .removal : .nothing
    default: return .all
    }
  }

  /// Sees to the file when no more bytes come. True: the attempt waits for that.
  func end(_ failure: URLError?, _ attempt: RequestAttempt) -> Bool {
    guard let sink = flow.sink else {
      if let failure { attempt.body.failure = leavingPartial(failure) }
      return false
    }
    switch sink.stage {
    case .receiving: return endBody(sink, failure, attempt)
    // Asked again: somebody has ended the attempt while it waited.
    case .flushing: return endAgain(sink, failure, attempt)
    case .ending: abandon(sink)
    case .over: break
    }
    return false
  }

  private func endBody(_ sink: DownloadSink, _ failure: URLError?, _ attempt: RequestAttempt) -> Bool {
    var failure = failure
    if failure == nil, let wrong = sink.lengthFailure {
      attempt.body.failure = wrong
      failure = wrong
    }
    guard let failure else { return flush(sink, nil, attempt) }
    switch sink.isTooLong ? .removal : wish(failure, attempt) {
    case .nothing: abandon(sink)
    case .written: leaveWritten(sink, attempt)
    case .removal:
      remove(sink, failure)
      return true
    case .all:
      limitWait(attempt)
      if sink.validator != nil { return flush(sink, failure, attempt) }
      remove(sink, failure)
      return true
    }
    return false
  }

  /// The outcome is fixed by now, or the wait for workers was too long.
  private func endAgain(_ sink: DownloadSink, _ failure: URLError?, _ attempt: RequestAttempt) -> Bool {
    guard let failure else { return true }
    switch wish(failure, attempt) {
    case .nothing, .removal: abandon(sink)
    case .written: leaveWritten(sink, attempt)
    case .all:
      sink.stage = .flushing(failure)
      limitWait(attempt)
      return true
    }
    return false
  }

  /// A cancelled request waits for a while at the most: the workers may be busy for longer.
  private func limitWait(_ attempt: RequestAttempt) {
    if isCancelled { attempt.limitReceiver() }
  }

  private func flush(_ sink: DownloadSink, _ failure: URLError?, _ attempt: RequestAttempt) -> Bool {
    sink.stage = .flushing(failure)
    guard sink.buffer.isEmpty else {
      write(sink)
      return true
    }
    guard let failure else {
      complete(sink)
      return true
    }
    guard let told = leave(sink, failure) else { return true }
    attempt.body.failure = told
    return false
  }

  /// Removes the file without waiting for it.
  private func abandon(_ sink: DownloadSink) {
    sink.stage = .over
    lane.submit { [file = sink.file] in file.remove() }
  }

  /// Removes the file, and the attempt ends when it is gone.
  func remove(_ sink: DownloadSink, _ failure: URLError) {
    sink.stage = .ending
    lane.submit { [self, file = sink.file, number = sink.number] in
      file.remove()
      onSink(number) { $0.ended($1, failure) }
    }
  }

  // MARK: Resume data

  /// All is written: lets go of the file, so that somebody may go on with it. The failure with the resume data; nil when
  /// there are none, and the file has to be removed first.
  func leave(_ sink: DownloadSink, _ failure: URLError) -> URLError? {
    guard let (data, bytes) = resumeData(of: sink) else {
      // The attempt may be no more than nothing: then there is no file, or an empty one.
      remove(sink, failure)
      return nil
    }
    sink.stage = .over
    flow.left = (sink.file, data)
    lane.submit { [file = sink.file] in file.close() }
    result.withLock { $0.resumeData = bytes }
    return failure.with(resumeData: bytes)
  }

  /// What a fixed outcome leaves: it has its error already.
  private func leaveWritten(_ sink: DownloadSink, _ attempt: RequestAttempt) {
    guard let (data, bytes) = resumeData(of: sink) else { return abandon(sink) }
    sink.stage = .over
    flow.left = (sink.file, data)
    lane.submit { [file = sink.file] in file.leave(at: data.offset) }
    result.withLock { $0.resumeData = bytes }
    guard let error = fields.withLock({ $0.error }) else { return }
    attempt.pipeline.record(telling(error))
  }

  /// Nil when nothing has come, nothing is missing, or the request is no GET that can be made again.
  private func resumeData(of sink: DownloadSink) -> (ResumeData, Data)? {
    guard let validator = sink.validator, let request = fields.withLock({ $0.attempt?.initial }) else { return nil }
    let data = ResumeData(
      request: request, validator: validator, fileName: sink.file.name, offset: sink.offset + sink.buffer.written,
      total: sink.total)
    guard let data, let bytes = data.data else { return nil }
    return (data, bytes)
  }

  private func ended(_ sink: DownloadSink, _ failure: URLError) {
    guard case .ending = sink.stage, let attempt = context.core.value.pipeline(of: self)?.attempt else { return }
    sink.stage = .over
    attempt.receiverDone(leavingPartial(failure))
  }

  /// The error of a transfer with the resume data that the request would leave with it.
  func telling(_ error: WeirError) -> WeirError {
    guard case .sessionTaskFailed(let failure as URLError) = error else { return error }
    return .sessionTaskFailed(error: telling(failure))
  }

  private func telling(_ failure: URLError) -> URLError {
    let isCancelled = isCancelled
    return result.withLock { $0.remains(hasFailed: true, isCancelled: isCancelled) }
      .map(failure.with(resumeData:)) ?? failure
  }

  // MARK: A partial file that was not gone on with

  /// What a response means to a request for the rest.
  func verdict(on response: LazyHTTPResponse) -> ResumeRule.Verdict {
    if let partial = flow.partial ?? takePartial() { return partial.rule.verdict(on: response) }
    // A rest without a file that it belongs to.
    return asksForRest && response.statusCode == 206 ? .askAgain : .other
  }

  private var asksForRest: Bool {
    switch result.withLock({ $0.plan }) {
    case .rest, .appending: true
    case .unread, .whole: false
    }
  }

  /// The partial file that the URL request was made for.
  func takePartial() -> OpenPartial? {
    let (file, plan) = result.withLock { result in
      defer { result.opened = nil }
      return (result.opened, result.plan)
    }
    guard let file, case .rest(let data) = plan else { return nil }
    flow.partial = OpenPartial(file: file, data: data)
    return flow.partial
  }

  /// The server has another file, or none of which it would send the rest.
  func dropPartial() {
    let partial = flow.partial
    flow.partial = nil
    result.withLock { result in
      switch result.plan {
      case .rest(let data), .appending(let data): result.plan = .whole(data.plainRequest)
      case .unread, .whole: break
      }
    }
    if let partial { lane.submit { partial.file.remove() } }
  }

  /// An attempt to go on has failed before it could: the same resume data serve another one.
  private func leavingPartial(_ failure: URLError) -> URLError {
    closePartial()
    return telling(failure)
  }

  // MARK: Afterwards

  /// Another attempt begins: of this one nothing is left but, for one that resumes, what it can go on with.
  func startAnew() {
    closePartial()
    let left = flow.left
    let moved = flow.moved
    flow.sink = nil
    flow.left = nil
    flow.moved = nil
    if let moved { lane.submit { moved.remove() } }
    if let left, !resumes { lane.submit { left.file.remove() } }
    result.withLock { result in
      result.fileURL = nil
      result.fileSize = nil
      result.resumeData = nil
      guard resumes else { return }
      if let left {
        result.plan = .rest(left.data)
      } else if case .appending(let data) = result.plan {
        // What there was has been used up.
        result.plan = .whole(data.plainRequest)
      }
    }
  }

  func cleanUp() {
    if let sink = flow.sink {
      if case .over = sink.stage {} else { abandon(sink) }
    }
    let (hasFailed, isCancelled) = fields.withLock { ($0.error != nil, $0.machine.state == .cancelled) }
    let (data, opened, waiting) = result.withLock { result in
      let data = result.remains(hasFailed: hasFailed, isCancelled: isCancelled)
      result.resumeData = data
      result.isSettled = true
      defer { (result.opened, result.waiting) = (nil, []) }
      return (data, result.opened, result.waiting)
    }
    for file in [opened, flow.partial?.file].compactMap({ $0 }) { lane.submit { file.close() } }
    if data == nil, let left = flow.left { lane.submit { left.file.remove() } }
    for handler in waiting { context.queues.completion.async { handler(data) } }
    flow.sink = nil
    flow.partial = nil
    flow.left = nil
    flow.moved = nil
  }

  private func closePartial() {
    if let partial = flow.partial ?? takePartial() { lane.submit { partial.file.close() } }
    flow.partial = nil
  }

  // MARK: The URL request of a resumed download, on a worker

  /// So many seconds are given to a download that has handed its resume data out and not yet let go of the file.
  static let patience = 2.0

  /// Has a worker build the request when nobody holds the partial file, or when that has been waited for long enough. No
  /// worker waits: the one that is to let go of the file may need it.
  func whenFree(_ data: Data, until deadline: MonotonicTime, _ work: @escaping @Sendable () -> Void) {
    lane.submit { [self] in
      guard MonotonicTime.now < deadline, isActive, isHeld(data) else { return work() }
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(10)) { [self] in
        whenFree(data, until: deadline, work)
      }
    }
  }

  private var isActive: Bool { fields.withLock { $0.machine.isActive && $0.machine.state != .cancelled } }

  private func isHeld(_ data: Data) -> Bool {
    let known: ResumeData? =
      switch result.withLock({ $0.plan }) {
      case .unread: ResumeData(data)
      case .rest(let known), .appending(let known): known
      case .whole: nil
      }
    return known.map { PartialFile.isHeld($0, in: directory) } ?? false
  }

  func resumedRequest(_ data: Data) throws -> URLRequest {
    switch result.withLock({ $0.plan }) {
    case .whole(let urlRequest): return urlRequest
    case .rest(let known), .appending(let known): return try rangeRequest(known)
    case .unread:
      guard let known = ResumeData(data) else {
        throw WeirError.sessionTaskFailed(
          error: FileProblem.unusable("they are not of a download of this version of weir"))
      }
      return try rangeRequest(known)
    }
  }

  private func rangeRequest(_ data: ResumeData) throws -> URLRequest {
    let file: PartialFile
    do throws(FileProblem) {
      file = try PartialFile(resuming: data, in: directory)
    } catch {
      result.withLock { $0.plan = .unread }
      throw WeirError.sessionTaskFailed(error: error.unusable)
    }
    let isTooLate = result.withLock { result in
      result.plan = .rest(data)
      if !result.isSettled { result.opened = file }
      return result.isSettled
    }
    if isTooLate { file.close() }
    return data.rangeRequest
  }
}

extension URLError {
  fileprivate func with(resumeData: Data) -> URLError {
    URLError(code, userInfo: errorUserInfo.merging([WeirError.resumeDataKey: resumeData]) { $1 })
  }
}

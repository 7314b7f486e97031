import Dispatch
import Synchronization
import WeirIO

/// The end of an attempt, and the file or resume data that it leaves. Runs on the loop unless a comment says otherwise.
extension DownloadRequest {
  /// The part of an incomplete body that is to be kept.
  private enum Wish {
    /// Nothing; the attempt's end does not wait for the removal.
    case nothing
    /// Nothing; the file is removed before the failure is reported.
    case removal
    /// All bytes that came.
    case all
    /// The bytes known to be written: the outcome is fixed, and waits for no worker.
    case written
  }

  private func wish(_ failure: URLError, _ runner: TaskRunner) -> Wish {
    let error = fields.withLock { $0.error }
    switch (failure.code, error) {
    case (.cannotWriteToFile, _), (.dataLengthExceedsMaximum, _), (.cannotDecodeContentData, _): return .removal
    case (.cancelled, .explicitlyCancelled?):
      if !result.withLock({ $0.wantsResumeData }) { return .nothing }
      return runner.attempt.hasGivenUp ? .written : .all
    // The deadline has passed, which the transfer does not know.
    case (.cancelled, .sessionTaskFailed?): return .written
    // The task alone was cancelled, or the session was released.
    case (.cancelled, _): return error == nil ? .removal : .nothing
    default: return .all
    }
  }

  /// Completes, leaves or removes the file once no more bytes come. True: the attempt waits until that is done.
  func end(_ failure: URLError?, _ runner: TaskRunner) -> Bool {
    guard let sink = flow.sink else {
      if let failure { runner.body.failure = leavingPartial(failure) }
      return false
    }
    switch sink.stage {
    case .receiving: return endBody(sink, failure, runner)
    // Called again: the attempt was ended from outside while it waited.
    case .flushing: return endAgain(sink, failure, runner)
    case .ending: abandon(sink)
    case .over: break
    }
    return false
  }

  private func endBody(_ sink: DownloadSink, _ failure: URLError?, _ runner: TaskRunner) -> Bool {
    var failure = failure
    if failure == nil, let wrong = sink.lengthFailure {
      runner.body.failure = wrong
      failure = wrong
    }
    guard let failure else { return flush(sink, nil, runner) }
    switch sink.isTooLong ? .removal : wish(failure, runner) {
    case .nothing: abandon(sink)
    case .written: leaveWritten(sink, runner)
    case .removal:
      remove(sink, failure)
      return true
    case .all:
      limitWait(runner)
      if sink.validator != nil { return flush(sink, failure, runner) }
      remove(sink, failure)
      return true
    }
    return false
  }

  /// Called when the outcome has been fixed meanwhile, or the wait for workers took too long.
  private func endAgain(_ sink: DownloadSink, _ failure: URLError?, _ runner: TaskRunner) -> Bool {
    guard let failure else { return true }
    switch wish(failure, runner) {
    case .nothing, .removal: abandon(sink)
    case .written: leaveWritten(sink, runner)
    case .all:
      sink.stage = .flushing(failure)
      limitWait(runner)
      return true
    }
    return false
  }

  /// Limits the wait of a cancelled request, as the workers may be busy for longer.
  private func limitWait(_ runner: TaskRunner) {
    if isCancelled { runner.limitReceiver() }
  }

  private func flush(_ sink: DownloadSink, _ failure: URLError?, _ runner: TaskRunner) -> Bool {
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
    runner.body.failure = told
    return false
  }

  /// Removes the file without waiting for the removal.
  private func abandon(_ sink: DownloadSink) {
    sink.stage = .over
    lane.submit { [file = sink.file] in file.remove() }
  }

  /// Removes the file; the attempt ends once it is removed.
  func remove(_ sink: DownloadSink, _ failure: URLError) {
    sink.stage = .ending
    lane.submit { [self, file = sink.file, number = sink.number] in
      file.remove()
      onSink(number) { $0.ended($1, failure) }
    }
  }

  // MARK: Resume data

  /// Called when everything is written. Closes the file, so that another download can resume it, and returns the
  /// failure with the resume data. Nil: there is no resume data, and the file is removed first.
  func leave(_ sink: DownloadSink, _ failure: URLError) -> URLError? {
    guard let (data, bytes) = resumeData(of: sink) else {
      // The attempt may have received nothing. Then there is no file, or an empty one.
      remove(sink, failure)
      return nil
    }
    sink.stage = .over
    flow.left = (sink.file, data)
    lane.submit { [file = sink.file] in file.close() }
    result.withLock { $0.resumeData = bytes }
    return failure.with(resumeData: bytes)
  }

  /// Leaves resume data although the outcome is fixed. The error is set already, and gets the resume data added.
  private func leaveWritten(_ sink: DownloadSink, _ runner: TaskRunner) {
    guard let (data, bytes) = resumeData(of: sink) else { return abandon(sink) }
    sink.stage = .over
    flow.left = (sink.file, data)
    lane.submit { [file = sink.file] in file.leave(at: data.offset) }
    result.withLock { $0.resumeData = bytes }
    guard let error = fields.withLock({ $0.error }) else { return }
    runner.pipeline.record(telling(error))
  }

  /// Nil if nothing has come, nothing is missing, or the request is not a GET that can be repeated.
  private func resumeData(of sink: DownloadSink) -> (ResumeData, Data)? {
    guard let validator = sink.validator, let request = fields.withLock({ $0.attempt?.initial })?.urlRequest
    else { return nil }
    let data = ResumeData(
      request: request, validator: validator, fileName: sink.file.name, offset: sink.offset + sink.buffer.written,
      total: sink.total)
    guard let data, let bytes = data.data else { return nil }
    return (data, bytes)
  }

  private func ended(_ sink: DownloadSink, _ failure: URLError) {
    guard case .ending = sink.stage, let runner = context.core.value.pipeline(of: self)?.attempt else { return }
    sink.stage = .over
    runner.receiverDone(leavingPartial(failure))
  }

  /// Adds to the error of a transfer the resume data that the request would leave with it.
  func telling(_ error: WeirError) -> WeirError {
    guard case .sessionTaskFailed(let failure as URLError) = error else { return error }
    return .sessionTaskFailed(error: telling(failure))
  }

  private func telling(_ failure: URLError) -> URLError {
    let isCancelled = isCancelled
    return result.withLock { $0.remains(hasFailed: true, isCancelled: isCancelled) }
      .map(failure.with(resumeData:)) ?? failure
  }

  // MARK: A partial file that was not continued

  /// Judges a response to a request for the rest.
  func verdict(on response: LazyHTTPResponse) -> ResumeRule.Verdict {
    if let partial = flow.partial ?? takePartial() { return partial.rule.verdict(on: response) }
    // The response brings a rest, but there is no partial file that it belongs to.
    return result.withLock { $0.plan.rest != nil } && response.statusCode == 206 ? .askAgain : .other
  }

  /// The partial file for which the URL request was made.
  func takePartial() -> OpenPartial? {
    let (file, plan) = result.withLock { result in
      defer { result.opened = nil }
      return (result.opened, result.plan)
    }
    guard let file, case .rest(let data) = plan else { return nil }
    flow.partial = OpenPartial(file: file, data: data)
    return flow.partial
  }

  /// Drops the partial file: the server has another file, or would not send the rest of this one.
  func dropPartial() {
    let partial = flow.partial
    flow.partial = nil
    result.withLock { result in
      if let data = result.plan.rest { result.plan = .whole(data.plainRequest) }
    }
    if let partial { lane.submit { partial.file.remove() } }
  }

  /// An attempt to resume failed before it used the partial file, so the same resume data serves another attempt.
  private func leavingPartial(_ failure: URLError) -> URLError {
    closePartial()
    return telling(failure)
  }

  // MARK: Afterwards

  /// Another attempt begins. Nothing of this one is kept, except the partial file of a resumed download.
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
        // The resume data was used up.
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

  /// The seconds to wait for a download that has handed out its resume data and not yet closed the file.
  static let patience = 2.0

  /// Has a worker build the request once no other download holds the partial file, or after the deadline. No worker
  /// blocks meanwhile: the download that has to close the file may need that worker.
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
    let plan = result.withLock { $0.plan }
    let known = if case .unread = plan { ResumeData(data) } else { plan.rest }
    return known.map { PartialFile.isHeld($0, in: directory) } ?? false
  }

  func resumedRequest(_ data: Data) throws -> URLRequest {
    switch result.withLock({ $0.plan }) {
    case .whole(let urlRequest): return urlRequest
    case .rest(let known), .appending(let known): return try rangeRequest(known)
    case .unread:
      guard let known = ResumeData(data) else {
        throw WeirError.sessionTaskFailed(
          error: FileProblem.unusable("it is not from a download by this version of weir"))
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

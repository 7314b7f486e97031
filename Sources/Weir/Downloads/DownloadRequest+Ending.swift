import Foundation
import FoundationNetworking
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

  private func wish(_ failure: URLError) -> Wish {
    let error = fields.withLock { $0.error }
    let wants = result.withLock { $0.wantsResumeData }
    switch (failure.code, error) {
    case (.cannotWriteToFile, _), (.dataLengthExceedsMaximum, _), (.cannotDecodeContentData, _): return .removal
    case (.cancelled, .explicitlyCancelled?): return wants ? .all : .nothing
    // The deadline, of which the transfer knows nothing.
    case (.cancelled, .sessionTaskFailed?): return .written
    // The task alone was cancelled, or the session has gone.
    case (.cancelled, _): return error == nil ? .removal : .nothing
    default: return .all
    }
  }

  /// Sees to the file when no more bytes come. True: the attempt waits for that.
  func end(_ failure: URLError?, _ attempt: Attempt) -> Bool {
    guard let sink = flow.sink else { return failure.map { keepPartial($0, attempt) } ?? false }
    if case .receiving = sink.stage { return endBody(sink, failure, attempt) }
    // Asked again: somebody ended the attempt while it waited.
    if case .over = sink.stage {} else { abandon(sink) }
    return false
  }

  private func endBody(_ sink: DownloadSink, _ failure: URLError?, _ attempt: Attempt) -> Bool {
    var failure = failure
    if failure == nil, let wrong = sink.lengthFailure {
      attempt.body.failure = wrong
      failure = wrong
    }
    guard let failure else {
      flush(sink, nil)
      return true
    }
    switch sink.isTooLong ? .removal : wish(failure) {
    case .nothing:
      abandon(sink)
      return false
    case .removal: remove(sink, failure)
    case .all: if sink.validator == nil { remove(sink, failure) } else { flush(sink, failure) }
    case .written:
      leaveWritten(sink, attempt)
      return false
    }
    return true
  }

  private func flush(_ sink: DownloadSink, _ failure: URLError?) {
    sink.stage = .flushing(failure)
    if sink.buffer.isEmpty { flushed(sink, failure) } else { write(sink) }
  }

  /// Removes the file without waiting for it.
  private func abandon(_ sink: DownloadSink) {
    sink.stage = .over
    lane.submit { [file = sink.file] in file.remove() }
  }

  /// Removes the file, and the attempt ends when it is gone.
  private func remove(_ sink: DownloadSink, _ failure: URLError) {
    sink.stage = .ending
    lane.submit { [self, file = sink.file, number = sink.number] in
      file.remove()
      onSink(number) { $0.ended($1, failure, leaving: nil) }
    }
  }

  // MARK: Resume data

  /// All is written: lets go of the file, so that somebody may go on with it.
  func leave(_ sink: DownloadSink, _ failure: URLError) {
    guard let data = resumeData(of: sink) else {
      // The attempt may be no more than nothing: then there is no file, or an empty one.
      return remove(sink, failure)
    }
    lane.submit { [self, file = sink.file, number = sink.number] in
      file.close()
      onSink(number) { $0.ended($1, failure, leaving: data) }
    }
  }

  /// Nil when nothing has come, or the request is no GET that can be made again.
  private func resumeData(of sink: DownloadSink) -> ResumeData? {
    guard let validator = sink.validator, sink.buffer.written > 0,
      let request = fields.withLock({ $0.attempt?.initial })
    else { return nil }
    return ResumeData(
      request: request, validator: validator, fileName: sink.file.name, offset: sink.offset + sink.buffer.written,
      total: sink.total)
  }

  private func ended(_ sink: DownloadSink, _ failure: URLError, leaving data: ResumeData?) {
    guard case .ending = sink.stage, let attempt = context.core.value.pipeline(of: self)?.attempt else { return }
    sink.stage = .over
    if let data, let bytes = data.data {
      flow.left = (sink.file, data)
      attempt.receiverDone(keep(bytes, failure))
    } else {
      // Also of what can't be told.
      if data != nil { lane.submit { [file = sink.file] in file.remove() } }
      if !keepPartial(failure, attempt) { attempt.receiverDone(failure) }
    }
  }

  /// What a fixed outcome leaves: it has its error already.
  private func leaveWritten(_ sink: DownloadSink, _ attempt: Attempt) {
    guard let data = resumeData(of: sink), let bytes = data.data else { return abandon(sink) }
    sink.stage = .over
    flow.left = (sink.file, data)
    lane.submit { [file = sink.file] in file.leave(at: data.offset) }
    amendError(with: bytes)
  }

  /// Makes the resume data known, and says the failure with them.
  private func keep(_ bytes: Data, _ failure: URLError) -> URLError {
    result.withLock { $0.resumeData = bytes }
    return failure.with(resumeData: bytes)
  }

  private func amendError(with bytes: Data) {
    guard case .sessionTaskFailed(let error as URLError)? = fields.withLock({ $0.error }) else { return }
    context.core.value.pipeline(of: self)?.record(.sessionTaskFailed(error: keep(bytes, error)))
  }

  // MARK: A partial file that was not gone on with

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
    guard let partial = flow.partial else { return }
    flow.partial = nil
    result.withLock { $0.plan = .whole(partial.data.plainRequest) }
    lane.submit { partial.file.remove() }
  }

  /// An attempt to go on has failed before it could: the same resume data serve another one.
  private func keepPartial(_ failure: URLError, _ attempt: Attempt) -> Bool {
    guard let partial = flow.partial ?? takePartial(), let bytes = partial.data.data else { return false }
    flow.partial = nil
    let wish = wish(failure)
    guard wish == .all else {
      lane.submit { partial.file.close() }
      if wish == .written { amendError(with: bytes) }
      return false
    }
    lane.submit { [self, task = attempt.task] in
      partial.file.close()
      onAttempt(task) { $0.receiverDone(self.keep(bytes, failure)) }
    }
    return true
  }

  /// The same for one that was cancelled before it was on the wire.
  func keepPartialOfCancelled() {
    guard isCancelled, result.withLock({ $0.wantsResumeData && $0.resumeData == nil }),
      let partial = flow.partial ?? takePartial()
    else { return }
    flow.partial = nil
    lane.submit { partial.file.close() }
    result.withLock { $0.resumeData = partial.data.data }
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
    var isResumed = false
    if case .resumeData = downloadable { isResumed = true }
    if let left, !isResumed { lane.submit { left.file.remove() } }
    result.withLock { result in
      result.fileURL = nil
      result.fileSize = nil
      result.resumeData = nil
      if isResumed, let left { result.plan = .rest(left.data) }
    }
  }

  func cleanUp() {
    closePartial()
    if let sink = flow.sink {
      if case .over = sink.stage {} else { abandon(sink) }
    }
    let data = resumeData
    if data == nil, let left = flow.left { lane.submit { left.file.remove() } }
    let waiting = result.withLock { result in
      result.isSettled = true
      defer { result.waiting = [] }
      return result.waiting
    }
    for handler in waiting { context.queues.completion.async { handler(data) } }
    flow.sink = nil
    flow.left = nil
    flow.moved = nil
  }

  private func closePartial() {
    if let partial = flow.partial ?? takePartial() { lane.submit { partial.file.close() } }
    flow.partial = nil
  }

  // MARK: The URL request of a resumed download, on a worker

  func resumedRequest(_ data: Data) throws -> URLRequest {
    switch result.withLock({ $0.plan }) {
    case .whole(let urlRequest): return urlRequest
    case .rest(let known): return try rangeRequest(known)
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

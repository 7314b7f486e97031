import Synchronization
import WeirIO

/// The way of a body from the response's head to the last byte on disk. Everything runs on the loop.
extension DownloadRequest {
  private var pipeline: RequestPipeline? { context.core.value.pipeline(of: self) }

  // MARK: The head

  func begin(_ response: LazyHTTPResponse) {
    guard let runner = pipeline?.attempt else { return }
    let expected = runner.body.decoder == nil ? runner.task.countOfBytesExpectedToReceive : -1
    if let partial = flow.partial ?? takePartial() {
      switch partial.rule.verdict(on: response) {
      case .append(let length, let total):
        flow.partial = nil
        return append(response, to: partial, runner, length, total)
      case .whole, .askAgain: dropPartial()
      case .other: break
      }
    }
    flow.sink = DownloadSink(
      PartialFile(in: directory), number: nextSink(), total: expected < 0 ? nil : expected,
      validator: Resumability.validator(of: response, to: runner.hop.request.urlRequest, isRest: false))
  }

  private func append(
    _ response: LazyHTTPResponse, to partial: OpenPartial, _ runner: TaskRunner, _ length: Int64, _ total: Int64?
  ) {
    result.withLock { $0.plan = .appending(partial.data) }
    flow.sink = DownloadSink(
      partial.file, number: nextSink(), offset: partial.data.offset, length: length, total: total,
      validator: Resumability.validator(of: response, to: runner.hop.request.urlRequest, isRest: true))
    guard context.monitors.wants(.tasks), let session = context.session else { return }
    context.monitors.urlSession(
      session, downloadTask: runner.task, didResumeAtOffset: partial.data.offset, expectedTotalBytes: total ?? -1)
  }

  private func nextSink() -> Int {
    flow.sinkCount += 1
    return flow.sinkCount
  }

  // MARK: Bytes

  func take(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    guard let sink = flow.sink, case .receiving = sink.stage else { return .stop }
    let goesOn = sink.buffer.append(bytes)
    if sink.buffer.hasPiece {
      write(sink)
    } else if !sink.isScheduled, sink.buffer.inFlight == 0 {
      sink.isScheduled = true
      context.loop.atEndOfTurn { [self] in
        sink.isScheduled = false
        if case .receiving = sink.stage, flow.sink === sink, sink.buffer.isDue { write(sink) }
      }
    }
    return goesOn ? .proceed : .pause
  }

  /// Has a worker write the waiting bytes, unless one is writing already.
  func write(_ sink: DownloadSink) {
    guard let next = sink.buffer.next() else { return }
    let piece = Piece(next)
    lane.submit { [self, file = sink.file, number = sink.number] in
      let bytes = piece.take()
      do throws(FileProblem) {
        try file.write(bytes)
        piece.put(bytes)
        onSink(number) { $0.wrote(piece.take(), $1) }
      } catch {
        file.remove()
        onSink(number) { $0.failed($1, error) }
      }
    }
  }

  /// Calls `action` with a sink on the loop, if it is still the request's sink.
  func onSink(_ number: Int, _ action: @escaping @Sendable (DownloadRequest, DownloadSink) -> Void) {
    onPipeline { [self] _ in
      if let sink = flow.sink, sink.number == number { action(self, sink) }
    }
  }

  private func wrote(_ piece: consuming [UInt8], _ sink: DownloadSink) {
    // Once the body is not wanted any more, its waiting bytes are not written.
    switch sink.stage {
    case .receiving, .flushing: break
    case .ending, .over: return
    }
    let goesOn = sink.buffer.wrote(piece)
    if case .flushing = sink.stage { write(sink) } else if sink.buffer.isDue { write(sink) }
    if goesOn { pipeline?.attempt?.release(.sink) }
    if case .flushing(let failure) = sink.stage, sink.buffer.isEmpty { flushed(sink, failure) }
  }

  private func failed(_ sink: DownloadSink, _ problem: FileProblem) {
    if case .over = sink.stage { return }
    sink.stage = .over
    pipeline?.attempt?.receiverFailed(problem.unwritable)
  }

  /// Everything that came is on disk.
  private func flushed(_ sink: DownloadSink, _ failure: URLError?) {
    guard let failure else { return complete(sink) }
    if let told = leave(sink, failure) { pipeline?.attempt?.receiverDone(told) }
  }

  /// The body is complete; makes sure that its file exists, and moves it.
  func complete(_ sink: DownloadSink) {
    sink.stage = .ending
    lane.submit { [self, file = sink.file, number = sink.number] in
      do throws(FileProblem) {
        // Nothing was written for an empty body, so its file is created here.
        try file.make()
        onSink(number) { $0.place($1) }
      } catch {
        onSink(number) { $0.failed($1, error) }
      }
    }
  }

  // MARK: The file's place

  private func place(_ sink: DownloadSink) {
    guard let runner = pipeline?.attempt else { return }
    guard let response = runner.task.lazyResponse?.response else {
      return remove(
        sink, runner.urlError(.badServerResponse, "no HTTPURLResponse can be built for the destination closure"))
    }
    let temporary = sink.file.url
    if context.monitors.wants(.tasks), let session = context.session {
      context.monitors.urlSession(session, downloadTask: runner.task, didFinishDownloadingTo: temporary)
    }
    guard let root = context.queues.root else { return move(sink, to: fileDestination(temporary, response)) }
    root.async { [self, number = sink.number] in
      let place = fileDestination(temporary, response)
      onSink(number) { $0.move($1, to: place) }
    }
  }

  private func move(_ sink: DownloadSink, to place: (destinationURL: URL, options: Options)) {
    guard case .ending = sink.stage, let pipeline else { return }
    pipeline.monitors.request(self, didCreateDestinationURL: place.destinationURL)
    lane.submit { [self, file = sink.file, number = sink.number] in
      let result = Result { () throws(FileProblem) in
        try file.move(
          to: place.destinationURL, makingDirectories: place.options.contains(.createIntermediateDirectories),
          replacing: place.options.contains(.removePreviousFile))
      }
      onSink(number) { $0.moved($1, place.destinationURL, result) }
    }
  }

  private func moved(_ sink: DownloadSink, _ url: URL, _ result: Result<Int64?, FileProblem>) {
    guard case .ending = sink.stage, let pipeline, let runner = pipeline.attempt else { return }
    sink.stage = .over
    switch result {
    case .success(let size):
      flow.moved = sink.file
      self.result.withLock { result in
        result.fileURL = url
        result.fileSize = size
      }
      pipeline.monitors.request(self, didFinishDownloadingUsing: runner.task, with: .success(url))
    case .failure(let problem):
      let error = WeirError.downloadedFileMoveFailed(
        error: problem.moveError, source: sink.file.url, destination: url)
      pipeline.record(error)
      pipeline.monitors.request(self, didFinishDownloadingUsing: runner.task, with: .failure(error))
    }
    runner.receiverDone(nil)
  }
}

/// The file that one response's body goes to. Lives on the loop.
final class DownloadSink {
  enum Stage {
    /// Bytes come in.
    case receiving
    /// No more bytes come, and the rest has to be written; with an error too, so that the download can be resumed.
    case flushing(URLError?)
    /// The file is complete and being moved, or is being removed.
    case ending
    /// The attempt was told of the end.
    case over
  }

  let file: PartialFile
  /// The sink's number among the request's sinks.
  let number: Int
  /// The offset in the file at which the response's body begins.
  let offset: Int64
  /// The length that the response's body must have; nil: any length.
  let length: Int64?
  /// The length of the whole file; nil if unknown.
  let total: Int64?
  /// The validator that a resumed download's response would have to match; nil: the download can't be resumed.
  let validator: ResumeData.Validator?
  var buffer = WriteBuffer()
  var stage = Stage.receiving
  /// Whether a write is scheduled for the end of the loop's turn.
  var isScheduled = false

  init(
    _ file: PartialFile, number: Int, offset: Int64 = 0, length: Int64? = nil, total: Int64?,
    validator: ResumeData.Validator?
  ) {
    self.file = file
    self.number = number
    self.offset = offset
    self.length = length
    self.total = total
    self.validator = validator
  }

  private var received: Int64 { buffer.written + Int64(buffer.count) }

  /// Whether more bytes came than were announced. Then none of them can be trusted.
  var isTooLong: Bool { length.map { received > $0 } ?? false }

  /// The error of a body that ended with the wrong length.
  var lengthFailure: URLError? {
    guard let length, received != length else { return nil }
    return URLError(
      received < length ? .networkConnectionLost : .badServerResponse,
      userInfo: [NSLocalizedDescriptionKey: "the rest of the download has \(received) bytes; \(length) were expected"])
  }
}

/// A piece of a body that goes to a worker and comes back, so that its memory is used again.
final class Piece: Sendable {
  private let bytes: Mutex<[UInt8]>

  init(_ bytes: sending [UInt8]) {
    self.bytes = Mutex(bytes)
  }

  func take() -> [UInt8] {
    bytes.withLock { bytes in
      defer { bytes = [] }
      return bytes
    }
  }

  func put(_ bytes: consuming [UInt8]) {
    let bytes = bytes
    self.bytes.withLock { $0 = bytes }
  }
}

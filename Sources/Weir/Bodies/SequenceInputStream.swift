import Dispatch
import Synchronization

/// An asynchronous sequence of chunks of bytes as a request's body: of an upload, or a URL request's `httpBodyStream`.
///
/// A chunk is asked for when the one before has been given to the connection, so that no more than one is held. The
/// sequence is iterated over once, in tasks that are cancelled when the request ends. Like any stream, it is passed on
/// unopened and used for one request. An error that the sequence throws becomes the request's error, as
/// ``WeirError/createUploadableFailed(error:)`` unless it is a ``WeirError``.
public final class SequenceInputStream: InputStream {
  /// The number of bytes that the sequence has to give; nil if that is not known.
  public let length: Int64?
  let reader: SequenceReader

  /// Takes a sequence whose elements are any collections of bytes.
  ///
  /// - Parameters:
  ///   - sequence: It is iterated over once.
  ///   - length: The number of its bytes, which the request announces. If the sequence gives fewer or more, the request
  ///     fails, before a byte too many is sent. The last bytes are sent once it is known that none follow. 0: the
  ///     sequence is asked for nothing. Nil: the body is sent in chunks, unless the request has a `Content-Length`.
  public init<Body: AsyncSequence & Sendable>(_ sequence: Body, length: Int64? = nil)
  where Body.Element: Collection<UInt8> {
    self.length = length
    reader = SequenceReader(SequenceSource(sequence, length: length))
    super.init(data: Data())
  }

  /// Compresses another one's bytes while they are sent.
  init(_ plain: SequenceInputStream, _ coding: RequestCoding) throws {
    length = nil
    reader = SequenceReader(try CompressedSource(plain.reader, coding))
    super.init(data: Data())
  }

  /// `open` until the sequence has ended, failed, or was let go of.
  public override var streamStatus: Status { reader.status }
  /// The error that the sequence has thrown; nil without one.
  public override var streamError: (any Error)? { reader.failure }
  /// Whether the sequence may give more: it is not asked.
  public override var hasBytesAvailable: Bool { reader.status == .open }

  /// Has no effect but on ``streamStatus``: the sequence is asked when bytes are read.
  public override func open() { reader.open() }

  /// Cancels what is waited for, and lets go of the sequence.
  public override func close() { reader.close() }

  /// Waits for the next bytes of the sequence; not for threads that run Swift tasks.
  public override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
    reader.read(into: UnsafeMutableBufferPointer(start: buffer, count: length))
  }
}

/// Pulls the pieces of a sequence, one at a time.
final class SequenceReader: Sendable {
  typealias Completion = @Sendable (BodyStream.Piece) -> Void

  /// The answer when no more can be read although the sequence has not ended.
  static let isUnusable = BodyStream.Piece.failed(
    "it was closed, or something else reads it", .requestBodyStreamExhausted)

  private let state: Mutex<State>

  private struct State {
    /// Nil once the sequence has ended, or is of no use any more.
    var source: (any BodySource)?
    /// The closure that waits for a piece, and the task that gets it. The task may outlive the wait for it: a sequence
    /// need not heed that it is cancelled.
    var waiting: Completion?
    var pulling: Task<Void, Never>?
    var status = InputStream.Status.notOpen
    var failure: (any Error)?
    /// Bytes for a reader that takes fewer than there are.
    var rest: ArraySlice<UInt8> = []

    mutating func endWait() -> Completion? {
      defer { (waiting, pulling) = (nil, nil) }
      return waiting
    }
  }

  init(_ source: any BodySource) {
    state = Mutex(State(source: source))
  }

  var status: InputStream.Status { state.withLock { $0.status } }
  var failure: (any Error)? { state.withLock { $0.failure } }

  /// False: it was opened or closed before.
  @discardableResult
  func open() -> Bool {
    state.withLock { state in
      guard state.status == .notOpen else { return false }
      state.status = .open
      return true
    }
  }

  /// Answers what waits, cancels its task, and lets go of the sequence.
  func close() { over(.closed, nil)?(Self.isUnusable) }

  /// Calls back with the next bytes. Called again only after that.
  func next(_ completion: @escaping Completion) {
    open()
    let (source, isAtEnd) = state.withLock { state in
      guard state.waiting == nil, let source = state.source else {
        return (nil as (any BodySource)?, state.status == .atEnd)
      }
      state.waiting = completion
      return (source, false)
    }
    guard let source else { return completion(isAtEnd ? .end : Self.isUnusable) }
    let task = Task { [self] in take(await source.next()) }
    let isClosed = state.withLock { state in
      if state.waiting != nil { state.pulling = task }
      return state.status == .closed
    }
    if isClosed { task.cancel() }
  }

  /// Waits for the next bytes, and copies as many as there is room for. 0: the sequence has ended; -1: it has failed,
  /// or is closed.
  func read(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var bytes = state.withLock { $0.rest }
    if bytes.isEmpty {
      guard case .bytes(let next) = waitForNext() else { return status == .atEnd ? 0 : -1 }
      bytes = next[...]
    }
    let count = min(buffer.count, bytes.count)
    _ = buffer.update(fromContentsOf: bytes.prefix(count))
    state.withLock { $0.rest = count < bytes.count ? bytes.dropFirst(count) : [] }
    return count
  }

  private func waitForNext() -> BodyStream.Piece {
    let arrived = Arrived()
    next { piece in
      arrived.piece.withLock { $0 = piece }
      arrived.semaphore.signal()
    }
    arrived.semaphore.wait()
    return arrived.piece.withLock { $0 }
  }

  /// The piece that a reader waits for.
  private final class Arrived: Sendable {
    let piece = Mutex(BodyStream.Piece.end)
    let semaphore = DispatchSemaphore(value: 0)
  }

  /// Passes a piece on, unless nothing waits for it any more. The sequence is let go of once it has given its last
  /// bytes.
  private func take(_ piece: BodyStream.Piece) {
    let completion =
      switch piece {
      case .bytes: state.withLock { $0.endWait() }
      case .end: over(.atEnd, nil)
      case .failed(let text, let code): over(.error, URLError(code, userInfo: [NSLocalizedDescriptionKey: text]))
      case .broken(let error): over(.error, error)
      }
    completion?(piece)
  }

  /// Returns what still waits for a piece. The sequence is the caller's, and is released outside the lock.
  private func over(_ status: InputStream.Status, _ failure: (any Error)?) -> Completion? {
    let (source, pulling, completion) = state.withLock { state in
      if state.status != .closed { (state.status, state.failure) = (status, failure) }
      defer { (state.source, state.pulling, state.rest) = (nil, nil, []) }
      return (state.source, state.pulling, state.endWait())
    }
    if status == .closed {
      pulling?.cancel()
      source?.close()
    }
    return completion
  }
}

extension InputStream {
  /// The length that a request with this stream as its body announces; nil means that the body ends where the stream
  /// ends.
  func length(in hop: HopRequest) -> Int64? {
    // A negative one fails when the sequence is asked for bytes, which it is not for a body that is announced as empty.
    guard let length = (self as? SequenceInputStream)?.length else { return BodyStream.length(of: hop) }
    return length < 0 ? nil : length
  }
}

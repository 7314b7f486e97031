import Dispatch
import Synchronization

/// An asynchronous sequence of chunks of bytes as the body of a request: of an upload, or a URL request's `httpBodyStream`.
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
  ///     fails, before a byte too many is sent. The last bytes are sent once it is known that none follow. Nil: the body
  ///     is sent in chunks, unless the request has a `Content-Length`.
  public init<Body: AsyncSequence & Sendable>(_ sequence: Body, length: Int64? = nil)
  where Body.Element: Collection<UInt8> {
    self.length = length.map { max(0, $0) }
    reader = SequenceReader(SequenceSource(sequence, length: self.length))
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
  private let state: Mutex<State>

  private struct State {
    /// Nil once the sequence has ended, or is of no use any more.
    var source: (any BodySource)?
    var pulling: Task<Void, Never>?
    var status = InputStream.Status.notOpen
    var failure: (any Error)?
    /// Bytes for a reader that takes fewer than there are.
    var rest: ArraySlice<UInt8> = []
  }

  fileprivate init(_ source: any BodySource) {
    state = Mutex(State(source: source))
  }

  var status: InputStream.Status { state.withLock { $0.status } }
  var failure: (any Error)? { state.withLock { $0.failure } }

  func open() { state.withLock { if $0.status == .notOpen { $0.status = .open } } }

  func close() { over(.closed, nil) }

  /// Calls back with the next bytes. Called again only after that.
  func next(_ completion: @escaping @Sendable (BodyStream.Piece) -> Void) {
    open()
    guard let source = state.withLock({ $0.source }) else { return completion(.end) }
    let task = Task { [self] in
      let piece = await source.next()
      note(piece)
      completion(piece)
    }
    let isClosed = state.withLock { state in
      state.pulling = task
      return state.status == .closed
    }
    if isClosed { task.cancel() }
  }

  /// Waits for the next bytes, and copies as many as there is room for. 0: the sequence has ended; -1: it has failed.
  func read(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var bytes = state.withLock { $0.rest }
    if bytes.isEmpty {
      guard case .bytes(let next) = waitForNext() else { return failure == nil ? 0 : -1 }
      bytes = next[...]
    }
    let count = min(buffer.count, bytes.count)
    _ = buffer.update(fromContentsOf: bytes.prefix(count))
    state.withLock { $0.rest = bytes.dropFirst(count) }
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

  /// The sequence is let go of once it has given its last bytes.
  private func note(_ piece: BodyStream.Piece) {
    switch piece {
    case .bytes: break
    case .end: over(.atEnd, nil)
    case .failed(let text, let code): over(.error, URLError(code, userInfo: [NSLocalizedDescriptionKey: text]))
    case .broken(let error): over(.error, error)
    }
  }

  /// The sequence is the caller's, and is released outside the lock.
  private func over(_ status: InputStream.Status, _ failure: (any Error)?) {
    let (source, pulling) = state.withLock { state in
      defer { (state.source, state.pulling) = (nil, nil) }
      if state.status != .closed { (state.status, state.failure) = (status, failure) }
      return (state.source, state.pulling)
    }
    if status == .closed { pulling?.cancel() }
    withExtendedLifetime(source) {}
  }
}

/// Gives the pieces of a body one after another.
private protocol BodySource: AnyObject, Sendable {
  func next() async -> BodyStream.Piece
}

/// The pieces of a sequence.
///
/// `@unchecked Sendable`: one call of `next()` at a time uses the iterator.
private final class SequenceSource<Body: AsyncSequence & Sendable>: BodySource, @unchecked Sendable
where Body.Element: Collection<UInt8> {
  private var iterator: Body.AsyncIterator
  private let length: Int64?
  private var count: Int64 = 0
  private var isOver = false

  init(_ sequence: Body, length: Int64?) {
    iterator = sequence.makeAsyncIterator()
    self.length = length
  }

  func next() async -> BodyStream.Piece {
    if isOver { return .end }
    do {
      guard let chunk = try await pull() else {
        guard let length, count < length else { return .end }
        return .failed("it has ended after \(count) of \(length) bytes", .requestBodyStreamExhausted)
      }
      count += Int64(chunk.count)
      guard let length, count >= length else { return .bytes(chunk) }
      // The receiver takes the body for complete with its last byte, so nothing can be told after that.
      guard count == length, try await pull() == nil else {
        return .failed("it gives more than \(length) bytes", .requestBodyStreamExhausted)
      }
      isOver = true
      return .bytes(chunk)
    } catch {
      return .broken(error)
    }
  }

  /// The next chunk that is not empty.
  private func pull() async throws -> [UInt8]? {
    while let chunk = try await iterator.next() {
      if !chunk.isEmpty { return [UInt8](chunk) }
    }
    return nil
  }
}

extension InputStream {
  /// The length that a request with this stream as its body announces; nil means that the body ends where the stream ends.
  func length(in hop: HopRequest) -> Int64? {
    (self as? SequenceInputStream)?.length ?? BodyStream.length(of: hop)
  }
}

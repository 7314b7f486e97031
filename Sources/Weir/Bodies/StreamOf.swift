/// Values of a request as they come, to be iterated over once.
public struct StreamOf<Element: Sendable>: AsyncSequence, Sendable {
  /// What is kept of values that nobody has asked for yet.
  public typealias BufferingPolicy = AsyncStream<Element>.Continuation.BufferingPolicy

  private let stream: AsyncStream<Element>
  private let onNext: (@Sendable () -> Void)?
  private let onTermination: (@Sendable () -> Void)?

  /// - Parameters:
  ///   - onNext: Called when a value has been taken.
  ///   - onTermination: Called when an iterator is gone: the loop over it was left, or its task cancelled.
  ///   - build: Sets up whoever feeds the stream.
  init(
    bufferingPolicy: BufferingPolicy = .unbounded, onNext: (@Sendable () -> Void)? = nil,
    onTermination: (@Sendable () -> Void)? = nil, _ build: (StreamFeed<Element>) -> Void
  ) {
    let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: bufferingPolicy)
    self.stream = stream
    self.onNext = onNext
    self.onTermination = onTermination
    build(StreamFeed(continuation))
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(iterator: stream.makeAsyncIterator(), onNext: onNext, end: onTermination.map(Iterator.End.init))
  }

  /// Takes the values out. When its last copy is gone, whoever feeds the stream is told.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var iterator: AsyncStream<Element>.AsyncIterator
    fileprivate let onNext: (@Sendable () -> Void)?
    fileprivate let end: End?

    public mutating func next() async -> Element? {
      let element = await iterator.next()
      if element != nil { onNext?() }
      return element
    }

    /// Tells that the last copy of an iterator is gone.
    fileprivate final class End: Sendable {
      private let action: @Sendable () -> Void

      init(_ action: @escaping @Sendable () -> Void) {
        self.action = action
      }

      deinit { action() }
    }
  }
}

/// The end of a stream that values are put into; the stream ends when the last reference to it goes.
final class StreamFeed<Element: Sendable>: Sendable {
  private let continuation: AsyncStream<Element>.Continuation

  fileprivate init(_ continuation: AsyncStream<Element>.Continuation) {
    self.continuation = continuation
  }

  func yield(_ element: Element) { continuation.yield(element) }

  /// Called when nobody can ask for values any more, or the stream has ended.
  func onTermination(_ action: @escaping @Sendable () -> Void) {
    continuation.onTermination = { _ in action() }
  }

  deinit { continuation.finish() }
}

/// The values of a request as they come, to be iterated over once.
public struct StreamOf<Element: Sendable>: AsyncSequence, Sendable {
  /// How many values are kept until the iteration asks for them.
  public typealias BufferingPolicy = AsyncStream<Element>.Continuation.BufferingPolicy

  private let stream: AsyncStream<Element>
  private let onNext: (@Sendable () -> Void)?
  private let onTermination: (@Sendable () -> Void)?

  /// - Parameters:
  ///   - onNext: Called when a value has been taken.
  ///   - onTermination: Called when an iterator is gone: the loop over it was left, or its task cancelled.
  ///   - build: Sets up the source of the values, which writes to the feed.
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
    Iterator(end: onTermination.map(Iterator.End.init), iterator: stream.makeAsyncIterator(), onNext: onNext)
  }

  /// Takes the values out. When its last copy is gone, the stream's source is told.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let end: End?
    fileprivate var iterator: AsyncStream<Element>.AsyncIterator
    fileprivate let onNext: (@Sendable () -> Void)?

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

/// The writing end of a stream; the stream ends when the last reference to this object goes.
final class StreamFeed<Element: Sendable>: Sendable {
  private let continuation: AsyncStream<Element>.Continuation

  fileprivate init(_ continuation: AsyncStream<Element>.Continuation) {
    self.continuation = continuation
  }

  func yield(_ element: Element) { continuation.yield(element) }

  /// Sets the action to run when the stream has ended or no reader is left.
  func onTermination(_ action: @escaping @Sendable () -> Void) {
    continuation.onTermination = { _ in action() }
  }

  deinit { continuation.finish() }
}

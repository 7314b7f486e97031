public import Foundation
public import HTTPTypes
import Synchronization

public enum IterationBehavior: Sendable { case single, multiple }

/// A body as a sequence of chunks.
public final class HTTPBody: AsyncSequence, Sendable {
  public typealias ByteChunk = ArraySlice<UInt8>
  public typealias Element = ByteChunk
  public enum Length: Sendable, Equatable {
    case unknown
    case known(Int64)
  }

  public let length: Length
  public let iterationBehavior: IterationBehavior
  private let make: @Sendable () -> Iterator

  public init<Bytes: AsyncSequence & Sendable>(
    _ sequence: Bytes, length: Length, iterationBehavior: IterationBehavior
  ) where Bytes.Element == ByteChunk {
    (self.length, self.iterationBehavior) = (length, iterationBehavior)
    make = { Iterator(sequence.makeAsyncIterator()) }
  }

  public convenience init(_ text: String) {
    let bytes = ByteChunk(text.utf8)
    let chunks = AsyncStream<ByteChunk> { continuation in
      continuation.yield(bytes)
      continuation.finish()
    }
    self.init(chunks, length: .known(Int64(bytes.count)), iterationBehavior: .multiple)
  }

  /// A body that may be iterated over once throws at the first element of a second iterator.
  public func makeAsyncIterator() -> Iterator {
    let isFirst = iterators.wrappingAdd(1, ordering: .relaxed).oldValue == 0
    return isFirst || iterationBehavior == .multiple ? make() : Iterator(Refusal())
  }

  private let iterators = Atomic(0)

  private struct TooManyIterations: Error {}

  private struct Refusal: AsyncIteratorProtocol {
    func next() async throws -> ByteChunk? { throw TooManyIterations() }
  }

  public struct Iterator: AsyncIteratorProtocol {
    private var produce: () async throws -> ByteChunk?

    fileprivate init<Base: AsyncIteratorProtocol>(_ base: Base) where Base.Element == ByteChunk {
      var base = base
      produce = { try await base.next() }
    }

    public mutating func next() async throws -> ByteChunk? { try await produce() }
  }
}

extension Data {
  public init(collecting body: HTTPBody, upTo most: Int) async throws {
    self.init()
    for try await chunk in body { append(contentsOf: chunk) }
  }
}

public protocol ClientTransport: Sendable {
  func send(
    _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
  ) async throws -> (HTTPResponse, HTTPBody?)
}

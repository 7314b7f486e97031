import WeirCompression

/// Gives the pieces of a body one after another, in constant memory. One call at a time.
protocol BodySource: AnyObject, Sendable {
  func next() async -> BodyStream.Piece
  /// The rest is of no use to anything. May be called while a piece is waited for.
  func close()
}

/// The pieces of a sequence.
///
/// `@unchecked Sendable`: one call of `next()` at a time uses the state.
final class SequenceSource<Body: AsyncSequence & Sendable>: BodySource, @unchecked Sendable
where Body.Element: Collection<UInt8> {
  /// Nil once the sequence has given its last chunk.
  private var iterator: Body.AsyncIterator?
  private let length: Int64?
  private var count: Int64 = 0
  /// The rest of a chunk that is given in pieces.
  private var rest: Body.Element.SubSequence?

  init(_ sequence: Body, length: Int64?) {
    iterator = sequence.makeAsyncIterator()
    self.length = length
  }

  func next() async -> BodyStream.Piece {
    if let piece = nextOfChunk() { return .bytes(piece) }
    if iterator == nil { return .end }
    if let length, length < 0 { return .failed("its length is \(length)", .requestBodyStreamExhausted) }
    do {
      guard let chunk = try await nextChunk() else {
        guard let length, count < length else { return .end }
        return .failed("it has ended after \(count) of \(length) bytes", .requestBodyStreamExhausted)
      }
      count += Int64(chunk.count)
      guard let length, count >= length else { return .bytes(piece(of: chunk)) }
      // The receiver takes the body for complete with its last byte, so nothing can be told after that.
      guard count == length, try await nextChunk() == nil else {
        return .failed("it gives more than \(length) bytes", .requestBodyStreamExhausted)
      }
      return .bytes(piece(of: chunk))
    } catch {
      return .broken(error)
    }
  }

  func close() {}

  /// The next chunk that is not empty. A sequence may give empty ones for ever, without a pause.
  private func nextChunk() async throws -> Body.Element? {
    while let chunk = try await iterator?.next() {
      if !chunk.isEmpty { return chunk }
      try Task.checkCancellation()
      await Task.yield()
    }
    iterator = nil
    return nil
  }

  /// An array is passed on as it is. Copies of other chunks are made a piece at a time, as chunks may be of any size.
  private func piece(of chunk: Body.Element) -> [UInt8] {
    if let bytes = chunk as? [UInt8] { return bytes }
    rest = chunk[...]
    return nextOfChunk() ?? []
  }

  private func nextOfChunk() -> [UInt8]? {
    guard let chunk = rest else { return nil }
    let end = chunk.index(chunk.startIndex, offsetBy: BodyStream.pieceSize, limitedBy: chunk.endIndex) ?? chunk.endIndex
    rest = end == chunk.endIndex ? nil : chunk[end...]
    return [UInt8](chunk[..<end])
  }
}

/// The pieces of another sequence, compressed. No thread waits for that one's chunks.
///
/// `@unchecked Sendable`: one call of `next()` at a time uses the state.
final class CompressedSource: BodySource, @unchecked Sendable {
  private let plain: SequenceReader
  private let deflater: Deflater
  private var hasBegun = false
  private var isAtEnd = false
  /// The rest of a plain chunk.
  private var rest: ArraySlice<UInt8> = []

  init(_ plain: SequenceReader, _ coding: RequestCoding) throws {
    self.plain = plain
    deflater = try coding.deflater()
  }

  func next() async -> BodyStream.Piece {
    guard hasBegun || plain.open() else { return SequenceReader.isUnusable }
    hasBegun = true
    while !isAtEnd {
      if rest.isEmpty {
        switch await nextPlain() {
        case .bytes(let bytes): rest = bytes[...]
        case .end: isAtEnd = true
        case let failure: return failure
        }
      }
      do {
        let compressed = try compress()
        if !compressed.isEmpty { return .bytes(compressed) }
      } catch {
        return .broken(error)
      }
    }
    return .end
  }

  func close() { plain.close() }

  private func nextPlain() async -> BodyStream.Piece {
    await withCheckedContinuation { continuation in
      plain.next { continuation.resume(returning: $0) }
    }
  }

  private func compress() throws -> [UInt8] {
    var output: [UInt8] = []
    try rest.prefix(BodyStream.pieceSize).withUnsafeBytes { bytes in
      try deflater.feed(bytes, flush: isAtEnd ? .finish : .none) { output.append(contentsOf: $0) }
    }
    rest = rest.count > BodyStream.pieceSize ? rest.dropFirst(BodyStream.pieceSize) : []
    return output
  }
}

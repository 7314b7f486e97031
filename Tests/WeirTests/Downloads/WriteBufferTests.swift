import Testing

@testable import Weir

@Suite("§8.3 Downloads: what waits to be written")
struct WriteBufferTests {
  /// By reference, since `#expect` takes nothing that changes a value.
  private final class Shared {
    private(set) var buffer = WriteBuffer()

    func append(_ count: Int) -> Bool {
      [UInt8](repeating: 1, count: count).withUnsafeBytes { buffer.append($0) }
    }

    func next() -> [UInt8]? { buffer.next() }
    func wrote(_ piece: [UInt8]) -> Bool { buffer.wrote(piece) }
  }

  private let shared = Shared()

  @Test func onePieceAtATime() {
    #expect(shared.next() == nil && shared.buffer.isEmpty)
    #expect(shared.append(10))
    let first = shared.next() ?? []
    #expect(first.count == 10 && shared.next() == nil)
    #expect(shared.append(20))
    #expect(shared.next() == nil && !shared.buffer.isEmpty && shared.buffer.written == 0)
    #expect(!shared.wrote(first))
    #expect(shared.buffer.written == 10)
    let second = shared.next() ?? []
    #expect(second.count == 20)
    #expect(!shared.wrote(second))
    #expect(shared.buffer.isEmpty && shared.buffer.written == 30)
  }

  @Test func itStopsAboveTheLimitAndGoesOnBelowTheMark() {
    #expect(shared.append(WriteBuffer.limit / 2))
    let first = shared.next() ?? []
    #expect(shared.append(WriteBuffer.limit / 2))
    #expect(!shared.append(1), "what is on its way counts too")
    #expect(!shared.wrote(first), "too much is left")
    let second = shared.next() ?? []
    #expect(second.count == WriteBuffer.limit / 2 + 1)
    #expect(shared.wrote(second))
    #expect(!shared.wrote([]), "it is told once")
  }

  @Test func smallPiecesWait() {
    #expect(shared.append(WriteBuffer.pieceSize - 1) && !shared.buffer.hasPiece)
    #expect(shared.append(1) && shared.buffer.hasPiece)
    _ = shared.next()
    #expect(shared.append(WriteBuffer.pieceSize) && !shared.buffer.hasPiece, "one is on its way")
  }

  @Test(
    "At the end of a turn goes what comes slowly, and what is a piece",
    arguments: [
      (0, false), (1, true), (WriteBuffer.slowSize - 1, true), (WriteBuffer.slowSize, false),
      (WriteBuffer.pieceSize - 1, false), (WriteBuffer.pieceSize, true),
    ])
  func due(count: Int, isDue: Bool) {
    #expect(shared.append(count) && shared.buffer.isDue == isDue)
    guard shared.next() != nil else { return }
    #expect(shared.append(1) && !shared.buffer.isDue, "one is on its way")
  }
}

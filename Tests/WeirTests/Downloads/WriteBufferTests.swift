import Testing

@testable import Weir

@Suite("§8.3 Downloads: what waits to be written")
struct WriteBufferTests {
  private func append(_ count: Int, to buffer: inout WriteBuffer) -> Bool {
    [UInt8](repeating: 1, count: count).withUnsafeBytes { buffer.append($0) }
  }

  @Test func onePieceAtATime() {
    var buffer = WriteBuffer()
    #expect(buffer.next() == nil && buffer.isEmpty)
    #expect(append(10, to: &buffer))
    let first = buffer.next() ?? []
    #expect(first.count == 10 && buffer.next() == nil)
    #expect(append(20, to: &buffer))
    #expect(buffer.next() == nil && !buffer.isEmpty && buffer.written == 0)
    #expect(!buffer.wrote(first))
    #expect(buffer.written == 10)
    let second = buffer.next() ?? []
    #expect(second.count == 20)
    #expect(!buffer.wrote(second))
    #expect(buffer.isEmpty && buffer.written == 30)
  }

  @Test func itStopsAboveTheLimitAndGoesOnBelowTheMark() {
    var buffer = WriteBuffer()
    #expect(append(WriteBuffer.limit / 2, to: &buffer))
    let first = buffer.next() ?? []
    #expect(append(WriteBuffer.limit / 2, to: &buffer))
    #expect(!append(1, to: &buffer), "what is on its way counts too")
    #expect(!buffer.wrote(first), "too much is left")
    let second = buffer.next() ?? []
    #expect(second.count == WriteBuffer.limit / 2 + 1)
    #expect(buffer.wrote(second))
    #expect(!buffer.wrote([]), "it is told once")
  }

  @Test func smallPiecesWait() {
    var buffer = WriteBuffer()
    _ = append(WriteBuffer.pieceSize - 1, to: &buffer)
    #expect(!buffer.hasPiece)
    _ = append(1, to: &buffer)
    #expect(buffer.hasPiece)
    _ = buffer.next()
    _ = append(WriteBuffer.pieceSize, to: &buffer)
    #expect(!buffer.hasPiece, "one is on its way")
  }
}

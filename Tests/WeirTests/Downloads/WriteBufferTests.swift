import Testing

@testable import Weir

@Suite("§8.3 Downloads: what waits to be written")
struct WriteBufferTests {
  private func append(_ count: Int, to buffer: inout WriteBuffer) -> Bool {
    [UInt8](repeating: 1, count: count).withUnsafeBytes { buffer.append($0) }
  }

  @Test func onePieceAtATime() {
    var buffer = WriteBuffer()
    let none = buffer.next()
    #expect(none == nil && buffer.isEmpty)
    let takes1 = append(10, to: &buffer)
    #expect(takes1)
    let first = buffer.next() ?? []
    let early = buffer.next()
    #expect(first.count == 10 && early == nil)
    let takes2 = append(20, to: &buffer)
    #expect(takes2)
    let another = buffer.next()
    #expect(another == nil && !buffer.isEmpty && buffer.written == 0)
    let goesOn1 = buffer.wrote(first)
    #expect(!goesOn1)
    #expect(buffer.written == 10)
    let second = buffer.next() ?? []
    #expect(second.count == 20)
    let goesOn2 = buffer.wrote(second)
    #expect(!goesOn2)
    #expect(buffer.isEmpty && buffer.written == 30)
  }

  @Test func itStopsAboveTheLimitAndGoesOnBelowTheMark() {
    var buffer = WriteBuffer()
    let takes3 = append(WriteBuffer.limit / 2, to: &buffer)
    #expect(takes3)
    let first = buffer.next() ?? []
    let takes4 = append(WriteBuffer.limit / 2, to: &buffer)
    #expect(takes4)
    let takes5 = append(1, to: &buffer)
    #expect(!takes5, "what is on its way counts too")
    let goesOn3 = buffer.wrote(first)
    #expect(!goesOn3, "too much is left")
    let second = buffer.next() ?? []
    #expect(second.count == WriteBuffer.limit / 2 + 1)
    let goesOn4 = buffer.wrote(second)
    #expect(goesOn4)
    let goesOn5 = buffer.wrote([])
    #expect(!goesOn5, "it is told once")
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

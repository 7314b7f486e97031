import Testing

@testable import WeirResolver

/// The reading of datagrams.
@Suite struct DatagramReaderTests {
  @Test func sixtyFourPerTurn() {
    var reader = DatagramReader()
    for _ in 0..<2 {
      reader.beginTurn()
      var count = 0
      while count < 100, reader.mayRead() { count += 1 }
      #expect(count == 64)
      reader.endTurn()
    }
  }

  @Test func responseCodeHoldsWhileTheDatagramIsWorkedOn() {
    var reader = DatagramReader()
    func read(_ bytes: [UInt8]) { bytes.withUnsafeBytes { reader.didRead($0) } }
    reader.beginTurn()
    _ = reader.mayRead()
    read([0, 1, 0x85, 0x82])
    #expect(reader.present == .serverFailure)
    _ = reader.mayRead()
    #expect(reader.present == nil)
    read([0, 1, 0x85])
    #expect(reader.present == nil)
    read([0, 1, 0x85, 0x85])
    #expect(reader.present == .refused)
    reader.endTurn()
    #expect(reader.present == nil)
  }
}

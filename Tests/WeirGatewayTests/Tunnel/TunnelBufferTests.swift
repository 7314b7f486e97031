import Testing
import WeirTestSupport

@testable import WeirGateway

@Suite struct TunnelBufferTests {
  private static func read(_ buffer: inout TunnelBuffer, _ count: Int) -> [UInt8] {
    var target = [UInt8](repeating: 0, count: count)
    let taken = target.withUnsafeMutableBytes { buffer.read(into: $0) }
    return Array(target.prefix(taken))
  }

  private static func append(_ bytes: [UInt8], to buffer: inout TunnelBuffer) {
    bytes.withUnsafeBytes { buffer.append($0) }
  }

  @Test func bytesComeOutAsTheyWentIn() {
    var random = SeededRandom(seed: 7)
    var buffer = TunnelBuffer()
    var (wrote, read): ([UInt8], [UInt8]) = ([], [])
    for _ in 0..<2_000 {
      if Bool.random(using: &random) {
        let bytes = (0..<Int.random(in: 0...3_000, using: &random)).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        Self.append(bytes, to: &buffer)
        wrote += bytes
      } else {
        read += Self.read(&buffer, Int.random(in: 0...3_000, using: &random))
      }
      #expect(buffer.count == wrote.count - read.count)
    }
    read += Self.read(&buffer, buffer.count)
    #expect(read == wrote)
    #expect(Self.read(&buffer, 10) == [])
  }

  @Test func itWantsNoMoreFromItsLimitOn() {
    var buffer = TunnelBuffer()
    Self.append([UInt8](repeating: 1, count: TunnelBuffer.limit - 1), to: &buffer)
    #expect(buffer.wantsMore)
    Self.append([1], to: &buffer)
    #expect(!buffer.wantsMore)
    _ = Self.read(&buffer, 1)
    #expect(buffer.wantsMore)
  }
}

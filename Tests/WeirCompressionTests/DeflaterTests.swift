import Testing
import WeirTestSupport

@testable import WeirCompression

@Suite struct DeflaterTests {
  /// The empty body, byte for byte as the RFCs have it.
  @Test(arguments: [
    (ContentCoding.gzip, [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    (.deflate, [0x78, 0x9C, 3, 0, 0, 0, 0, 1]),
  ])
  func emptyBody(coding: ContentCoding, expected: [UInt8]) throws {
    #expect(try Compression.deflate([], coding) == expected)
  }

  /// RFC 1950 §2.3: FLEVEL says how hard the compressor tried.
  @Test(arguments: [(-3, 0x01), (0, 0x01), (1, 0x01), (2, 0x5E), (5, 0x5E), (6, 0x9C), (9, 0xDA), (99, 0xDA)])
  func levels(level: Int, flags: UInt8) throws {
    let body = Samples.text(1_000)
    let packed = try Compression.deflate(body, .deflate, level: level)
    #expect(packed.prefix(2) == [0x78, flags])
    #expect(try Compression.inflate(packed, .deflate, limits: .unlimited) == body)
  }

  @Test(arguments: [1, 100, 70_000])
  func pieces(piece: Int) throws {
    let body = Samples.text(150_000)
    let deflater = try Deflater(.gzip)
    var packed: [UInt8] = []
    for start in stride(from: 0, to: body.count, by: piece) {
      try Array(body[start..<min(body.count, start + piece)]).withUnsafeBytes {
        try deflater.feed($0) { packed.append(contentsOf: $0) }
      }
    }
    try deflater.finish { packed.append(contentsOf: $0) }
    #expect(try Compression.inflate(packed, .gzip, limits: .unlimited) == body)
    #expect(packed.count < body.count)
  }

  @Test func syncFlushLetsTheReceiverReadOn() throws {
    let deflater = try Deflater(.deflate)
    let inflater = try Inflater(.deflate, limits: .unlimited)
    for body in [Samples.text(10), Samples.noise(1_000), [UInt8](repeating: 1, count: 200_000)] {
      var packed: [UInt8] = []
      var seen: [UInt8] = []
      try body.withUnsafeBytes { try deflater.feed($0, flush: .sync) { packed.append(contentsOf: $0) } }
      try packed.withUnsafeBytes { _ = try inflater.feed($0) { seen.append(contentsOf: $0) } }
      #expect(seen == body)
    }
  }

  @Test func slicesAreBounded() throws {
    let body = Samples.noise(500_000)
    var longest = 0
    try body.withUnsafeBytes { try Deflater(.gzip).feed($0, flush: .finish) { longest = max(longest, $0.count) } }
    #expect(longest == Inflater.maximumSlice)
  }

  @Test func nothingFollowsTheEndButReset() throws {
    let deflater = try Deflater(.deflate)
    var first: [UInt8] = []
    var second: [UInt8] = []
    try deflater.finish { first.append(contentsOf: $0) }
    #expect(throws: CompressionError.misuse) { try deflater.finish { _ in } }
    try deflater.reset()
    try deflater.finish { second.append(contentsOf: $0) }
    #expect(first == second)
  }
}

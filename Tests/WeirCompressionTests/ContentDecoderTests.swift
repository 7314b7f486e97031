import Testing
import WeirHTTP
import WeirTestSupport

@testable import WeirCompression

@Suite(.slow) struct ContentDecoderTests {
  @Test(
    arguments: [
      ("gzip", [ContentCoding.gzip]), ("GZip", [.gzip]), ("x-gzip", [.gzip]), ("deflate", [.deflate]),
      (" gzip\t", [.gzip]), ("gzip, deflate", [.gzip, .deflate]), ("deflate,gzip", [.deflate, .gzip]),
      ("identity", []), ("identity, gzip", [.gzip]), ("", []), (" , ", []), (",gzip,,", [.gzip]),
      ("gzip,gzip,gzip,gzip", [.gzip, .gzip, .gzip, .gzip]),
      ("gzip,gzip,gzip,gzip,gzip", nil), ("br", nil), ("gzip, br", nil), ("x-deflate", nil), ("gzi", nil),
      ("gzip deflate", nil), ("gzip;q=1", nil), ("gzíp", nil),
    ] as [(String, [ContentCoding]?)])
  func codings(value: String, expected: [ContentCoding]?) throws {
    #expect(value.withOctets { ContentCoding.list($0) } == expected)
    let decoder = try ContentDecoder(contentEncoding: value, limits: .unlimited)
    #expect((decoder == nil) == (expected ?? []).isEmpty)
  }

  private static let chains: [(String, [PackedForm])] = [
    ("gzip", [.gzip]), ("deflate", [.zlib]), ("deflate", [.raw]), ("gzip, deflate", [.gzip, .zlib]),
    ("deflate, identity, x-gzip", [.raw, .gzip]), ("gzip, gzip, deflate", [.gzip, .gzip, .raw]),
  ]

  @Test(arguments: chains, [(1, 1), (1, Int.max), (100, 1_000), (Int.max, 64), (Int.max, 65_536), (Int.max, Int.max)])
  func chainsDecode(chain: (String, [PackedForm]), cut: (piece: Int, budget: Int)) throws {
    let body = Samples.text(6_000) + [UInt8](repeating: 5, count: 20_000)
    let packed = try chain.1.reduce(body) { try Compression.pack($0, $1) }
    let decoder = try #require(try ContentDecoder(contentEncoding: chain.0, limits: .unlimited))
    let outcome = decoder.run(packed, piece: cut.piece, budget: cut.budget)
    #expect(outcome == Outcome(bytes: body))
    #expect(outcome.longestSlice <= min(cut.budget, Inflater.maximumSlice))
    #expect(decoder.received == Int64(packed.count))
    let other = try #require(try ContentDecoder(contentEncoding: chain.0, limits: .unlimited))
    #expect(other.run(packed.dropLast()).error == .truncated)
  }

  @Test func twoCodingsDoNotMultiplyTheRatio() throws {
    // 30 MB of zeros twice over: 30 kB after one pass, well under 1 kB after two.
    let once = try Compression.deflate([UInt8](repeating: 0, count: 30_000_000), .gzip)
    let twice = try Compression.deflate(once, .deflate)
    let limits = DecodeLimits(size: nil, ratio: 2_000)
    #expect(try Inflater(.gzip, limits: limits).run(once).error == nil)
    let decoder = try #require(try ContentDecoder([.gzip, .deflate], limits: limits))
    let outcome = decoder.run(twice)
    #expect(outcome.error == .ratioLimit(2_000))
    #expect(outcome.bytes.count == 10 << 20)
  }

  @Test func anInnerStageIsBoundedThoughItDeliversNothing() throws {
    // Empty members, which decode to nothing, repeated until the outer coding packs them by a thousand.
    let empty = try Compression.deflate([], .gzip)
    let inner = Array(repeatElement(empty, count: 100_000).joined())
    let packed = try Compression.deflate(inner, .gzip)
    let decoder = try #require(try ContentDecoder([.gzip, .gzip], limits: DecodeLimits(size: 1_000_000, ratio: nil)))
    #expect(decoder.run(packed) == Outcome(error: .sizeLimit(1_000_000)))
  }

  @Test func aTurnOfAChainIsBounded() throws {
    let once = try Compression.deflate([UInt8](repeating: 0, count: 5_000_000), .gzip)
    let twice = try Compression.deflate(once, .deflate)
    let decoder = try #require(try ContentDecoder([.gzip, .deflate], limits: .unlimited))
    var turn = 0
    var total = 0
    var more = try twice.withUnsafeBytes { try decoder.feed($0, budget: 65_536) { turn += $0.count } }
    while more {
      #expect(turn <= 65_536)
      total += turn
      turn = 0
      more = try decoder.step(budget: 65_536) { turn += $0.count }
    }
    try decoder.finish()
    #expect(total + turn == 5_000_000)
  }
}

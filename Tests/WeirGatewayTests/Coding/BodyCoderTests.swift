import Foundation
import Testing
import WeirCompression
import WeirIO
import WeirTestSupport

@testable import WeirGateway

@Suite struct BodyCoderTests {
  private let limit = Gate(limit: 2)

  private func coder(_ work: BodyCoder.Work) -> BodyCoder {
    #expect(limit.enter())
    return BodyCoder(work, limit: limit)
  }

  @Test func aTurnHasAShare() throws {
    let coder = try coder(.gzip(Deflater(.gzip, level: 1)))
    let first = MonotonicTime(nanoseconds: 1), second = MonotonicTime(nanoseconds: 2)
    #expect(coder.admits(70_000, in: first), "the first piece of a turn is always taken")
    var output: [UInt8] = []
    let bytes = [UInt8](repeating: 7, count: 40_000)
    try bytes.withUnsafeBytes { try coder.take($0, in: first) { output += $0 } }
    #expect(coder.admits(25_536, in: first))
    #expect(!coder.admits(25_537, in: first))
    #expect(!coder.isSpent(in: first))
    try bytes.prefix(25_536).withUnsafeBytes { try coder.take($0, in: first) { output += $0 } }
    #expect(coder.isSpent(in: first))
    #expect(!coder.isSpent(in: second))
    #expect(coder.isUnflushed)
    try coder.flush { output += $0 }
    #expect(!coder.isUnflushed)
    try coder.finish { output += $0 }
    #expect(coder.before == 65_536)
    #expect(coder.after == Int64(output.count))
    #expect(coder.plain == 65_536)
    #expect(try Compression.inflate(output, .gzip, limits: .unlimited) == bytes + bytes.prefix(25_536))
  }

  @Test func decodingIsSharedOutTooByWhatItMakes() throws {
    let plain = [UInt8](repeating: 7, count: 1 << 20)
    let coded = try Compression.deflate(plain, .gzip)
    let decoder = try #require(try ContentDecoder([.gzip], limits: .unlimited))
    let coder = coder(.decode(decoder))
    var output: [UInt8] = []
    var turn = Int64(1)
    try coded.withUnsafeBytes { try coder.take($0, in: MonotonicTime(nanoseconds: turn)) { output += $0 } }
    while coder.hasPending {
      #expect(output.count <= Int(turn) * BodyCoder.bytesPerTurn)
      try coder.step(in: MonotonicTime(nanoseconds: turn)) { output += $0 }
      turn += 1
    }
    try coder.finish { output += $0 }
    #expect(output == plain)
    #expect(turn >= 16)
    #expect((coder.before, coder.after, coder.plain) == (Int64(coded.count), 1 << 20, 1 << 20))
  }

  @Test func aPlaceIsFreedWithItsCoder() throws {
    do {
      let one = try coder(.gzip(Deflater(.gzip))), other = try coder(.gzip(Deflater(.gzip)))
      #expect(!limit.enter())
      withExtendedLifetime((one, other)) {}
    }
    #expect(limit.isEmpty)
    _ = BodyCoder(.pass, limit: limit)
    #expect(limit.isEmpty)
  }

  @Test func thereAreThousandPlaces() throws {
    let limit = Gate(limit: CodingPlan.mostBodies)
    var rules = CompressionRules()
    (rules.compressesResponses, rules.decodesRequests) = (true, true)
    let plan = try #require(CodingPlan(rules, limit: limit))
    let pool = DeflaterPool(level: 1)
    for _ in 0..<999 { #expect(limit.enter()) }
    do {
      let last = try #require(plan.coder(for: .gzip, pool))
      #expect(!last.isPassing)
      #expect(try #require(plan.coder(for: .gzip, pool)).isPassing)
      #expect(try #require(plan.coder(for: .decode([.gzip]), pool)).isPassing)
      #expect(plan.decoder(of: [.gzip], bodyBytes: nil) == nil)
      #expect(!limit.enter())
    }
    #expect([limit.enter(), limit.enter()] == [true, false])
    #expect(plan.coder(for: .none, pool) == nil)
    #expect(CodingPlan(CompressionRules(), limit: limit) == nil)
  }

  /// Compressors come back clean, after a body that broke off too.
  @Test func compressorsAreUsedAgain() throws {
    let pool = DeflaterPool(level: 1)
    let text = Array("weir steers a stream".utf8)
    var outputs: [[UInt8]] = []
    for isCut in [true, false, false] {
      #expect(limit.enter())
      let coder = BodyCoder(.gzip(try #require(pool.take())), limit: limit, pool: pool)
      var output: [UInt8] = []
      try text.withUnsafeBytes { try coder.take($0, in: MonotonicTime(nanoseconds: 1)) { output += $0 } }
      if isCut { continue }
      try coder.finish { output += $0 }
      outputs.append(output)
    }
    for output in outputs { #expect(try Compression.inflate(output, .gzip, limits: .unlimited) == text) }
    #expect(outputs.count == 2)
  }
}

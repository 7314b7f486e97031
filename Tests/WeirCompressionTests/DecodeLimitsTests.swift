import Testing
import WeirTestSupport

@testable import WeirCompression

@Suite struct DecodeLimitsTests {
  private static let mebibyte = 1 << 20

  /// 50 MB of zeros in about 48 kB.
  private static let bomb = Result { try Compression.deflate([UInt8](repeating: 0, count: 50_000_000), .gzip) }

  @Test(
    arguments: [
      (DecodeLimits.unlimited, 0, Int64.max, CompressionError.sizeLimit(.max)),
      (DecodeLimits(size: 100, ratio: nil), 1_000_000, 100, .sizeLimit(100)),
      (DecodeLimits(size: nil, ratio: 10), 5, 10 << 20, .ratioLimit(10)),
      (DecodeLimits(size: nil, ratio: 10, ratioFloor: 50), 4, 50, .ratioLimit(10)),
      (DecodeLimits(size: nil, ratio: 10, ratioFloor: 50), 6, 60, .ratioLimit(10)),
      (DecodeLimits(size: nil, ratio: 2.5, ratioFloor: 0), 3, 7, .ratioLimit(2.5)),
      (DecodeLimits(size: 55, ratio: 10, ratioFloor: 50), 6, 55, .sizeLimit(55)),
      (DecodeLimits(size: 60, ratio: 10, ratioFloor: 50), 6, 60, .sizeLimit(60)),
      (DecodeLimits(size: -5, ratio: nil), 6, 0, .sizeLimit(0)),
      (DecodeLimits(size: nil, ratio: -1, ratioFloor: -1), 6, 0, .ratioLimit(0)),
      (DecodeLimits(size: nil, ratio: .nan), 6, .max, .sizeLimit(.max)),
      (DecodeLimits(size: nil, ratio: .infinity), 6, .max, .sizeLimit(.max)),
      (DecodeLimits(size: 9, ratio: 1e300), 6, 9, .sizeLimit(9)),
    ] as [(DecodeLimits, Int64, Int64, CompressionError)])
  func allowance(limits: DecodeLimits, received: Int64, bytes: Int64, error: CompressionError) {
    let allowance = limits.allowance(received: received)
    #expect(allowance.bytes == bytes)
    #expect(allowance.error == error)
  }

  @Test(arguments: [1, 16_384, Int.max], [1_000, 65_536, Int.max])
  func aBombStopsAtTheSizeLimitExactly(piece: Int, budget: Int) throws {
    let bomb = try Self.bomb.get()
    #expect(bomb.count < 50_000)
    let limit = Int64(3 * Self.mebibyte + 1)
    let inflater = try Inflater(.gzip, limits: DecodeLimits(size: limit, ratio: 200))
    let outcome = inflater.run(bomb, piece: piece, budget: budget)
    #expect(outcome.error == .sizeLimit(limit))
    #expect(outcome.bytes.count == Int(limit))
    #expect(inflater.decoded == limit)
  }

  @Test(arguments: [1, 16_384, Int.max], [1_000, 65_536, Int.max])
  func aBombStopsAtTheRatioFloorExactly(piece: Int, budget: Int) throws {
    let inflater = try Inflater(.gzip, limits: DecodeLimits(size: 512 << 20, ratio: 200))
    let outcome = inflater.run(try Self.bomb.get(), piece: piece, budget: budget)
    #expect(outcome.error == .ratioLimit(200))
    #expect(outcome.bytes.count == 10 * Self.mebibyte)
    #expect(inflater.received < 12_000)
  }

  @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 200_000])
  func theLimitItselfIsAllowed(size: Int) throws {
    let packed = try Compression.deflate(Samples.text(size), .gzip)
    for budget in [1_000, 65_536, Int.max] {
      let whole = try Inflater(.gzip, limits: DecodeLimits(size: Int64(size), ratio: nil)).run(packed, budget: budget)
      #expect(whole == Outcome(bytes: Samples.text(size)))
      guard size > 0 else { continue }
      let limit = Int64(size - 1)
      let cut = try Inflater(.gzip, limits: DecodeLimits(size: limit, ratio: nil)).run(packed, budget: budget)
      #expect(cut == Outcome(bytes: Array(Samples.text(size).dropLast()), error: .sizeLimit(limit)))
    }
  }

  @Test(arguments: [1, 7, 1_000, Int.max])
  func theRatioHoldsAtEveryDelivery(piece: Int) throws {
    // A stretch of noise earns credit that the zeros after it use up.
    let body = Samples.noise(20_000) + [UInt8](repeating: 0, count: 2_000_000)
    let packed = try Compression.deflate(body, .gzip)
    let limits = DecodeLimits(size: nil, ratio: 5, ratioFloor: 10_000)
    let inflater = try Inflater(.gzip, limits: limits)
    var delivered: Int64 = 0
    var worst: Int64 = .min
    let error = packed.withUnsafeBytes { bytes -> CompressionError? in
      do throws(CompressionError) {
        var rest = bytes[...]
        while !rest.isEmpty {
          let part = rest.prefix(piece)
          rest = rest.dropFirst(part.count)
          try inflater.feed(UnsafeRawBufferPointer(rebasing: part)) { slice in
            delivered += Int64(slice.count)
            worst = max(worst, delivered - max(10_000, 5 * inflater.received))
          }
        }
        return nil
      } catch {
        return error
      }
    }
    #expect(error == .ratioLimit(5))
    #expect(worst == 0)
    #expect(delivered > 100_000 && delivered < 110_000)
  }

  @Test func honestBodiesPass() throws {
    let body = Samples.text(200_000)
    let packed = try Compression.deflate(body, .gzip)
    let limits = DecodeLimits(size: nil, ratio: Double(body.count) / Double(packed.count) * 1.2, ratioFloor: 30_000)
    #expect(try Inflater(.gzip, limits: limits).run(packed, piece: 100) == Outcome(bytes: body))
  }
}

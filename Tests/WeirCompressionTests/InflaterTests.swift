import Testing
import WeirTestSupport

@testable import WeirCompression

@Suite struct InflaterTests {
  static let codings: [(PackedForm, ContentCoding)] = [(.gzip, .gzip), (.zlib, .deflate), (.raw, .deflate)]

  @Test(arguments: codings, [0, 1, 2, 100, 65_535, 65_536, 65_537, 300_000])
  func roundTrip(coding: (PackedForm, ContentCoding), size: Int) throws {
    for body in [Samples.text(size), Samples.noise(size), [UInt8](repeating: 0, count: size)] {
      let packed = try Compression.pack(body, coding.0)
      let inflater = try Inflater(coding.1, limits: .unlimited)
      let outcome = inflater.run(packed)
      #expect(outcome == Outcome(bytes: body))
      #expect(outcome.longestSlice <= Inflater.maximumSlice)
      #expect(inflater.decoded == Int64(body.count))
      #expect(try Compression.inflate(packed, coding.1, limits: .unlimited) == body)
    }
  }

  @Test(arguments: codings, [(1, Int.max), (1, 1), (2, 3), (7, 1000), (1000, 7), (Int.max, 1), (Int.max, 65_536)])
  func anyCutGivesTheSame(coding: (PackedForm, ContentCoding), cut: (piece: Int, budget: Int)) throws {
    let body = Samples.text(5_000) + Samples.noise(3_000) + [UInt8](repeating: 9, count: 10_000)
    let packed = try Compression.pack(body, coding.0)
    let outcome = try Inflater(coding.1, limits: .unlimited).run(packed, piece: cut.piece, budget: cut.budget)
    #expect(outcome == Outcome(bytes: body))
    #expect(outcome.longestSlice <= cut.budget)
  }

  @Test func aTurnIsBounded() throws {
    let packed = try Compression.deflate([UInt8](repeating: 0, count: 1_000_000), .gzip)
    let inflater = try Inflater(.gzip, limits: .unlimited)
    var turns = [0]
    var more = try packed.withUnsafeBytes { try inflater.feed($0, budget: 100_000) { turns[0] += $0.count } }
    while more {
      turns.append(0)
      more = try inflater.step(budget: 100_000) { turns[turns.count - 1] += $0.count }
    }
    try inflater.finish()
    #expect(turns.allSatisfy { $0 <= 100_000 })
    #expect(turns.reduce(0, +) == 1_000_000)
  }

  @Test func inputWithoutOutputIsBoundedToo() throws {
    let empty = try Compression.deflate([], .gzip)
    let members = Array(repeatElement(empty, count: 1_000).joined())
    let inflater = try Inflater(.gzip, limits: .unlimited)
    var more = try members.withUnsafeBytes { try inflater.feed($0, budget: 500) { _ in } }
    var turns = 1
    while more {
      #expect(inflater.received <= Int64(500 * turns))
      more = try inflater.step(budget: 500) { _ in }
      turns += 1
    }
    try inflater.finish()
    #expect(turns == members.count / 500)
  }

  @Test(arguments: codings)
  func everyTruncationIsSeen(coding: (PackedForm, ContentCoding)) throws {
    let body = Samples.text(300)
    let packed = try Compression.pack(body, coding.0)
    for length in 1..<packed.count {
      let outcome = try Inflater(coding.1, limits: .unlimited).run(Array(packed.prefix(length)))
      #expect(outcome.error == .truncated, "\(length) of \(packed.count) bytes")
      #expect(body.starts(with: outcome.bytes))
    }
    #expect(try Inflater(coding.1, limits: .unlimited).run([]) == Outcome())
  }

  @Test(arguments: [
    (ContentCoding.gzip, 8, "incorrect data check"), (.gzip, 4, "incorrect length check"),
    (.deflate, 4, "incorrect data check"), (.deflate, 1, "incorrect data check"),
  ])
  func checksumsAreChecked(coding: ContentCoding, fromEnd: Int, message: String) throws {
    let body = Samples.text(5_000)
    var packed = try Compression.deflate(body, coding)
    packed[packed.count - fromEnd] ^= 0x40
    for piece in [1, Int.max] {
      let outcome = try Inflater(coding, limits: .unlimited).run(packed, piece: piece)
      #expect(outcome == Outcome(bytes: body, error: .corrupt(message)))
    }
  }

  @Test func everyFlippedBitIsAnErrorOrHarmless() throws {
    let body = Samples.text(200)
    let packed = try Compression.deflate(body, .gzip)
    for bit in 0..<(packed.count * 8) {
      var damaged = packed
      damaged[bit / 8] ^= 1 << (bit % 8)
      let outcome = try Inflater(.gzip, limits: .unlimited).run(damaged)
      // Only the header's time, flags for text, extra flags and system are not covered by the checksum.
      #expect(outcome.error != nil || outcome.bytes == body)
    }
  }

  @Test(arguments: [
    Array("plain text, no gzip".utf8), [0x1F, 0x8C, 8, 0], [0x78, 0x9C, 3, 0, 0, 0, 0, 1], [0x1F, 0x8B, 9, 0],
  ])
  func gzipIsStrict(input: [UInt8]) throws {
    let outcome = try Inflater(.gzip, limits: .unlimited).run(input)
    #expect(outcome.bytes.isEmpty)
    #expect(outcome.error?.label == "corrupt")
  }

  @Test func presetDictionaryIsRefused() throws {
    // RFC 1950 §2.2: FDICT set, header a multiple of 31.
    let outcome = try Inflater(.deflate, limits: .unlimited).run([0x78, 0xBB, 0, 0, 0, 1, 3, 0])
    #expect(outcome.error == .corrupt("a preset dictionary is needed"))
  }

  @Test(arguments: [1, 2, 5, Int.max])
  func membersAreConcatenated(piece: Int) throws {
    let parts = [Samples.text(1_000), [], Samples.noise(100_000), Samples.text(1)]
    let packed = try parts.flatMap { try Compression.deflate($0, .gzip) }
    let outcome = try Inflater(.gzip, limits: .unlimited).run(packed, piece: piece)
    #expect(outcome == Outcome(bytes: Array(parts.joined())))
    let cut = try Inflater(.gzip, limits: .unlimited).run(packed.dropLast(3), piece: piece)
    #expect(cut.error == .truncated)
  }

  @Test(arguments: [1, Int.max], [[0], [0, 0, 0], [0x1F], [0x1F, 0], [0x1F, 0x1F, 0x8B], Array("garbage".utf8)])
  func garbageAfterTheEndIsIgnored(piece: Int, garbage: [UInt8]) throws {
    let body = Samples.text(500)
    for (form, coding) in Self.codings {
      let packed = try Compression.pack(body, form)
      let inflater = try Inflater(coding, limits: .unlimited)
      #expect(inflater.run(packed + garbage, piece: piece) == Outcome(bytes: body))
      #expect(inflater.received == Int64(packed.count + garbage.count))
    }
  }

  @Test func bytesThatBeginAMemberMustBeOne() throws {
    let packed = try Compression.deflate(Samples.text(500), .gzip)
    #expect(try Inflater(.gzip, limits: .unlimited).run(packed + [0x1F, 0x8B]).error == .truncated)
    #expect(try Inflater(.gzip, limits: .unlimited).run(packed + [0x1F, 0x8B, 7, 0]).error?.label == "corrupt")
  }

  @Test func aFailureStays() throws {
    let inflater = try Inflater(.gzip, limits: .unlimited)
    let failure = try #require(inflater.run([1, 2, 3]).error)
    #expect(throws: failure) { try inflater.step { _ in } }
    #expect(throws: failure) { try inflater.finish() }
    #expect(!inflater.hasPending)
  }
}

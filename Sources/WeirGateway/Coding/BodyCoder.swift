import WeirCompression
import WeirIO

/// One body on its way through zlib, with the share of each turn of the loop that it may use. It has a place of the
/// process's limit as long as it exists. Confined to the loop.
final class BodyCoder {
  enum Work {
    case gzip(Deflater)
    case decode(ContentDecoder)
    /// The body would have been coded, but too many others are. It is only counted.
    case pass
  }

  /// The most bytes that zlib takes, and the most that it inflates, in one turn. No engine delivers more in one piece.
  static let bytesPerTurn = 64 << 10
  /// Seconds after which the client can decode what has come.
  static let patience = 0.01

  /// Bytes taken, and bytes passed on.
  private(set) var before: Int64 = 0
  private(set) var after: Int64 = 0
  /// Whether zlib may keep bytes that the client could not decode yet.
  private(set) var isUnflushed = false
  let turnTimer = LoopTimer()
  let flushTimer = LoopTimer()
  private let work: Work
  private let limit: Gate
  private let pool: DeflaterPool?
  private var turn = MonotonicTime(nanoseconds: 0)
  private var spent = 0

  /// - Parameters:
  ///   - limit: One of its places has been taken, unless the work is `pass`.
  ///   - pool: Takes the compressor back.
  init(_ work: Work, limit: Gate, pool: DeflaterPool? = nil) {
    self.work = work
    self.limit = limit
    self.pool = pool
  }

  deinit {
    switch work {
    case .gzip(let deflater): pool?.put(deflater)
    case .decode: break
    case .pass: return
    }
    limit.leave()
  }

  /// Bytes so far in the form without a coding.
  var plain: Int64 { if case .gzip = work { before } else { after } }

  var isPassing: Bool { if case .pass = work { true } else { false } }

  /// Whether `step` has work to do without further bytes.
  var hasPending: Bool { if case .decode(let decoder) = work { decoder.hasPending } else { false } }

  /// Whether the share of this turn is used up.
  func isSpent(in turn: MonotonicTime) -> Bool { !isPassing && left(in: turn) <= 0 }

  /// Whether so many further bytes fit into the share of this turn.
  func admits(_ count: Int, in turn: MonotonicTime) -> Bool {
    let left = left(in: turn)
    return isPassing || left == Self.bytesPerTurn || count <= left
  }

  private func left(in turn: MonotonicTime) -> Int {
    begin(turn)
    return Self.bytesPerTurn - spent
  }

  private func begin(_ turn: MonotonicTime) {
    if turn == self.turn { return }
    self.turn = turn
    spent = 0
  }

  /// Takes bytes that the turn's share admits.
  func take(
    _ bytes: UnsafeRawBufferPointer, in turn: MonotonicTime, into sink: (UnsafeRawBufferPointer) -> Void
  ) throws(CompressionError) {
    begin(turn)
    before += Int64(bytes.count)
    switch work {
    case .gzip(let deflater):
      spent += bytes.count
      isUnflushed = true
      try deflater.feed(bytes) { pass($0, to: sink) }
    case .decode(let decoder):
      try spend { budget throws(CompressionError) in
        try decoder.feed(bytes, budget: budget) { pass($0, to: sink) }
      }
    case .pass: pass(bytes, to: sink)
    }
  }

  /// Goes on with pending bytes, as far as the turn's share allows.
  func step(in turn: MonotonicTime, into sink: (UnsafeRawBufferPointer) -> Void) throws(CompressionError) {
    guard case .decode(let decoder) = work, decoder.hasPending, left(in: turn) > 0 else { return }
    try spend { budget throws(CompressionError) in try decoder.step(budget: budget) { pass($0, to: sink) } }
  }

  private func spend(_ work: (Int) throws(CompressionError) -> Bool) throws(CompressionError) {
    let (before, received) = (after, received)
    _ = try work(max(1, Self.bytesPerTurn - spent))
    spent += Int(max(after - before, self.received - received))
  }

  private var received: Int64 { if case .decode(let decoder) = work { decoder.received } else { 0 } }

  /// Lets the client decode all that has come.
  func flush(into sink: (UnsafeRawBufferPointer) -> Void) throws(CompressionError) {
    guard case .gzip(let deflater) = work, isUnflushed else { return }
    isUnflushed = false
    try deflater.feed(UnsafeRawBufferPointer(start: nil, count: 0), flush: .sync) { pass($0, to: sink) }
  }

  /// The body is complete. Throws if its coding is not.
  func finish(into sink: (UnsafeRawBufferPointer) -> Void) throws(CompressionError) {
    switch work {
    case .gzip(let deflater): try deflater.finish { pass($0, to: sink) }
    case .decode(let decoder): try decoder.finish()
    case .pass: break
    }
  }

  private func pass(_ bytes: UnsafeRawBufferPointer, to sink: (UnsafeRawBufferPointer) -> Void) {
    after += Int64(bytes.count)
    sink(bytes)
  }
}

/// A streaming decoder of one coding, with limits that are exact to the byte.
///
/// `feed` gives it input. It keeps input beyond the budget of a turn, and `step` continues with that. When `hasPending`
/// is false and no more input comes, `finish` checks that the data was complete. Every call after a failure throws that
/// failure again. Not thread-safe.
package final class Inflater {
  /// The longest slice ever handed to a sink.
  package static let maximumSlice = 64 << 10

  /// Bytes of input taken so far.
  package private(set) var received: Int64 = 0

  /// Bytes delivered so far.
  package private(set) var decoded: Int64 = 0

  private let limits: DecodeLimits
  private let stream: InflateStream
  private let upstream: Inflater?
  private var backlog: [UInt8] = []
  private var backlogStart = 0
  private var failure: CompressionError?

  /// - Parameters:
  ///   - upstream: The stage whose output this one decodes. The ratio is then taken against the bytes that the first
  ///     stage has received, so that two codings on top of each other do not multiply the allowed expansion.
  package init(
    _ coding: ContentCoding, limits: DecodeLimits, upstream: Inflater? = nil
  ) throws(CompressionError) {
    stream = try InflateStream(coding)
    self.limits = limits
    self.upstream = upstream
  }

  /// Whether `step` has work to do without further input.
  package var hasPending: Bool {
    failure == nil && (backlogStart < backlog.count || stream.mayHoldOutput)
  }

  /// Decodes `input`, which need only be valid during the call, after any pending input.
  ///
  /// - Parameters:
  ///   - budget: The most bytes to deliver, and the most to take, in this call; at least 1. The rest of `input` is
  ///     copied and waits for `step`. Default: no bound.
  ///   - sink: Called with slices of at most `maximumSlice` bytes, valid during the call.
  /// - Returns: Whether something is pending.
  @discardableResult
  package func feed(
    _ input: UnsafeRawBufferPointer, budget: Int = .max, into sink: (UnsafeRawBufferPointer) -> Void
  ) throws(CompressionError) -> Bool {
    guard !hasPending else {
      enqueue(input)
      return try step(budget: budget, into: sink)
    }
    var rest = input
    try run(&rest, budget: budget, into: sink)
    if !rest.isEmpty { enqueue(rest) }
    return hasPending
  }

  /// Continues with pending input. Parameters and result are those of `feed`.
  @discardableResult
  package func step(
    budget: Int = .max, into sink: (UnsafeRawBufferPointer) -> Void
  ) throws(CompressionError) -> Bool {
    var outcome: CompressionError?
    let start = backlogStart
    var left = 0
    backlog.withUnsafeBytes { bytes in
      var rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(start))
      do throws(CompressionError) { try run(&rest, budget: budget, into: sink) } catch { outcome = error }
      left = rest.count
    }
    backlogStart = backlog.count - left
    if left == 0 || outcome != nil {
      backlog.removeAll(keepingCapacity: true)
      backlogStart = 0
    }
    if let outcome { throw outcome }
    return hasPending
  }

  /// Ends the input. Call it when nothing is pending.
  ///
  /// - Throws: `.truncated` if the coding's end mark has not been seen. Input without any bytes is complete.
  package func finish() throws(CompressionError) {
    if let failure { throw failure }
    guard !hasPending, stream.isWhole else { throw .truncated }
  }

  /// Keeps a copy of `input` for `step`.
  func enqueue(_ input: UnsafeRawBufferPointer) {
    if backlogStart > 0, backlogStart >= backlog.count / 2 {
      backlog.removeFirst(backlogStart)
      backlogStart = 0
    }
    backlog.append(contentsOf: input)
  }

  // MARK: - Decoding

  /// The bytes received from the wire, against which the ratio is measured.
  private var wireReceived: Int64 { upstream?.wireReceived ?? received }

  private func run(
    _ input: inout UnsafeRawBufferPointer, budget: Int, into sink: (UnsafeRawBufferPointer) -> Void
  ) throws(CompressionError) {
    if let failure { throw failure }
    do {
      try decode(&input, budget: max(1, budget), into: sink)
    } catch {
      failure = error
      throw error
    }
  }

  private func decode(
    _ input: inout UnsafeRawBufferPointer, budget: Int, into sink: (UnsafeRawBufferPointer) -> Void
  ) throws(CompressionError) {
    guard !input.isEmpty || stream.mayHoldOutput else { return }
    let scratch = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(budget, Self.maximumSlice), alignment: 16)
    defer { scratch.deallocate() }
    var budgetIn = budget
    var budgetOut = budget
    repeat {
      // The call asks for one byte more than allowed, to detect that the limit is passed. That byte is never delivered.
      let allowed = max(0, limits.allowance(received: wireReceived).bytes - decoded)
      let wanted = min(scratch.count, budgetOut, Int(min(allowed, .max - 1)) + 1)
      var offered = UnsafeRawBufferPointer(rebasing: input.prefix(budgetIn))
      let offeredCount = offered.count
      let (written, failure) = stream.decode(
        &offered, into: UnsafeMutableRawBufferPointer(rebasing: scratch.prefix(wanted)))
      let taken = offeredCount - offered.count
      input = UnsafeRawBufferPointer(rebasing: input.dropFirst(taken))
      received += Int64(taken)
      budgetIn -= taken
      budgetOut -= written
      try deliver(UnsafeRawBufferPointer(rebasing: scratch.prefix(written)), into: sink)
      if let failure { throw failure }
    } while budgetIn > 0 && budgetOut > 0 && (!input.isEmpty || stream.mayHoldOutput)
  }

  private func deliver(
    _ bytes: UnsafeRawBufferPointer, into sink: (UnsafeRawBufferPointer) -> Void
  ) throws(CompressionError) {
    guard !bytes.isEmpty else { return }
    let allowance = limits.allowance(received: wireReceived)
    let count = Int(min(Int64(bytes.count), max(0, allowance.bytes - decoded)))
    decoded += Int64(count)
    if count > 0 { sink(UnsafeRawBufferPointer(rebasing: bytes.prefix(count))) }
    if count < bytes.count { throw allowance.error }
  }
}

/// The limits on how far compressed input may expand.
package struct DecodeLimits: Hashable, Sendable {
  /// The most bytes ever delivered; nil for no limit.
  package var size: Int64?

  /// The highest ratio of decoded to received bytes, applied to what lies past `ratioFloor`; nil for no limit. Received
  /// are the bytes that the decoder has taken, so the result does not depend on how the input was divided.
  package var ratio: Double?

  /// Up to this many decoded bytes any ratio is allowed: a short body of zeros is not an attack. Default: 10 MiB.
  package var ratioFloor: Int64

  /// Negative numbers count as 0; a ratio that is not finite counts as none.
  package init(size: Int64?, ratio: Double?, ratioFloor: Int64 = 10 << 20) {
    self.size = size.map { max(0, $0) }
    self.ratio = ratio.flatMap { $0.isFinite ? max(0, $0) : nil }
    self.ratioFloor = max(0, ratioFloor)
  }

  /// The number of bytes that may be delivered in all after `received` bytes were taken, and the error for the next
  /// byte.
  func allowance(received: Int64) -> (bytes: Int64, error: CompressionError) {
    let bySize = size ?? .max
    // Where the product exceeds an Int64, there is no limit in practice.
    guard let ratio, ratio * Double(received) < 9e18 else { return (bySize, .sizeLimit(bySize)) }
    let bytes = max(ratioFloor, Int64(ratio * Double(received)))
    return bytes < bySize ? (bytes, .ratioLimit(ratio)) : (bySize, .sizeLimit(bySize))
  }
}

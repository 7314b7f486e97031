/// A streaming decoder of one coding, with limits that are exact to the byte.
///
/// `feed` gives it input. It keeps input beyond the budget of a turn, and `step` continues with that. When `hasPending`
/// is false and no more input comes, `finish` checks that the data was complete. Every call after a failure throws that
/// failure again. Not thread-safe.
package final class Inflater {
  /// The longest slice ever handed to a sink.
  package static let maximumSlice = 64 << 10

  /// The limits on the expansion.
  package let limits: DecodeLimits

  /// Bytes of input taken so far.
  package private(set) var received: Int64 = 0

  /// Bytes delivered so far.
  package private(set) var decoded: Int64 = 0

  private let stream: InflateStream
  private let upstream: Inflater?
  private var backlog: [UInt8] = []
  private var backlogStart = 0
  private var failure: CompressionError?

  /// - Parameters:
  ///   - upstream: The stage whose output this one decodes. The ratio is then taken against the bytes that the first
  ///     stage has received, so that two codings on top of each other do not multiply the allowed expansion.
  package init(
    _ format: InflateFormat, limits: DecodeLimits, upstream: Inflater? = nil
  ) throws(CompressionError) {
    stream = try InflateStream(format)
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
    if left == 0 || outcome != nil { dropBacklog() }
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

  /// Discards all state and makes the decoder ready for new input of the same coding, keeping zlib's memory.
  package func reset() throws(CompressionError) {
    try stream.reset()
    dropBacklog()
    received = 0
    decoded = 0
    failure = nil
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

  private func dropBacklog() {
    backlog.removeAll(keepingCapacity: true)
    backlogStart = 0
  }
}

/// The bytes of a body that is passed on while it comes in. As long as all of it fits, the body can be sent again.
///
/// A value: `append` and `end` come from the receiving side, `take` and `rewind` from the sending side.
package struct ReplayBuffer: Sendable {
  /// Bytes kept so that the body can be sent again.
  package let replayLimit: Int
  /// Above so many unsent bytes the receiving side should pause.
  package let highWaterMark: Int
  private var bytes: [UInt8] = []
  private var position = 0
  /// Whether the beginning is still there.
  package private(set) var isReplayable = true
  package private(set) var isEnded = false

  package init(replayLimit: Int = 64 << 10, highWaterMark: Int = 64 << 10) {
    self.replayLimit = replayLimit
    self.highWaterMark = highWaterMark
  }

  package var unsent: Int { bytes.count - position }

  /// Whether the receiving side should wait until more was sent. Never so while the body may still be replayed whole.
  package var isFull: Bool { unsent >= highWaterMark }

  package mutating func append(_ new: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: new)
    if isReplayable, bytes.count > replayLimit, position > 0 || bytes.count > replayLimit + highWaterMark {
      isReplayable = false
    }
    discardSent()
  }

  package mutating func end() {
    isEnded = true
  }

  /// Copies unsent bytes into `target`. Nil when there are none yet; 0 at the end of the body.
  package mutating func take(into target: UnsafeMutableRawBufferPointer) -> Int? {
    let count = min(unsent, target.count)
    guard count > 0 else { return isEnded ? 0 : nil }
    bytes.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[position..<position + count])) }
    position += count
    if isReplayable, bytes.count > replayLimit { isReplayable = false }
    discardSent()
    return count
  }

  /// Begins anew. False when the beginning is gone.
  package mutating func rewind() -> Bool {
    guard isReplayable || position == 0 else { return false }
    position = 0
    return true
  }

  private mutating func discardSent() {
    guard !isReplayable, position > 0 else { return }
    bytes.removeFirst(position)
    position = 0
  }
}

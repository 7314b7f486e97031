/// A request body between the client that sends it and the attempts that take it.
///
/// Up to `limit` bytes are kept, so that another attempt can send them again. A body that grows beyond that is passed
/// through: bytes that an attempt has taken are released, and the body can't be replayed any more.
package struct ReplayBuffer {
  package enum Read: Equatable {
    case bytes(Int)
    /// Nothing has come yet.
    case wait
    case end
  }

  /// The default limit, 64 KiB.
  package static let defaultLimit = 64 << 10

  /// Whether all of the body so far is kept.
  package private(set) var canReplay = true
  /// Whether the client has sent the whole body.
  package private(set) var isComplete = false
  private let limit: Int
  private var bytes: [UInt8] = []
  private var taken = 0
  private var hasLetGo = false

  package init(limit: Int = Self.defaultLimit) {
    self.limit = limit
  }

  package var unread: Int { bytes.count - taken }

  /// Whether the client may send more. False if as many bytes as the limit wait for an attempt to take them.
  package var wantsMore: Bool { unread < limit }

  /// The whole body, once it is complete and if it could be kept.
  package var whole: [UInt8]? { isComplete && canReplay ? bytes : nil }

  package mutating func append(_ more: UnsafeRawBufferPointer) {
    if canReplay, bytes.count + more.count > limit { canReplay = false }
    if !canReplay { letGo() }
    bytes.append(contentsOf: more)
  }

  package mutating func finish() {
    isComplete = true
  }

  package mutating func read(into target: UnsafeMutableRawBufferPointer) -> Read {
    let count = min(target.count, unread)
    guard count > 0 else { return isComplete && unread == 0 ? .end : .wait }
    bytes.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[taken..<taken + count])) }
    taken += count
    if taken == bytes.count, !canReplay { letGo() }
    return .bytes(count)
  }

  /// Whether no attempt has taken bytes that are gone.
  package var canRewind: Bool { !hasLetGo }

  /// Begins again for another attempt. Returns false if bytes that an earlier one took are gone.
  package mutating func rewind() -> Bool {
    guard !hasLetGo else { return false }
    taken = 0
    return true
  }

  private mutating func letGo() {
    guard taken > 0 else { return }
    bytes.removeSubrange(..<taken)
    taken = 0
    hasLetGo = true
  }
}

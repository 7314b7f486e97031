import Synchronization
import WeirCurl

/// A request body between the client that sends it and the attempts that take it.
///
/// The client may be ahead of the attempt by ``window`` bytes. What attempts have taken is kept up to a limit, so that
/// another attempt can send it again. A body that grows beyond that is passed through: bytes that an attempt has taken are
/// released, and the body can't be sent again any more.
///
/// The bytes are in blocks, so that nothing is copied as a body grows, and memory is released as its beginning goes.
struct ReplayBuffer {
  /// The bytes that wait for an attempt at most, before the client has to wait, and those that every body may keep: 64 KiB.
  static let window = 64 << 10

  /// Whether the client has sent the whole body.
  private(set) var isComplete = false
  /// The most bytes that are kept.
  private var limit = Self.window
  /// Nil for a body that keeps no more than ``window``.
  private var share: ReplayShare?
  /// All but the last are full, with ``ReplayAccount/step`` bytes.
  private var blocks: [[UInt8]] = []
  /// The bytes that are there, whether an attempt has taken them or not.
  private var kept = 0
  /// The bytes from the beginning of the first block that the present attempt has taken.
  private var taken = 0
  private var hasLetGo = false
  /// Whether bytes that were taken stay whatever their number, since another attempt will send them.
  private var isHeld = false
  /// Whether more has come than may be kept.
  private var isCramped = false

  /// Keeps no more than of every body.
  init() {}

  init(limit: Int, account: ReplayAccount? = nil) {
    self.limit = limit
    if limit > Self.window { share = account.map { ReplayShare(of: $0) } }
  }

  var unread: Int { kept - taken }

  /// Whether all of the body so far is there, so that another attempt could send it.
  var canReplay: Bool { !hasLetGo }

  /// Whether it may keep more than every body.
  var keepsMore: Bool { limit > Self.window }

  /// Whether the client may send more. False if enough bytes wait for an attempt to take them, or if a body that is held
  /// has reached its limit.
  var wantsMore: Bool {
    unread < Self.window && !(isHeld && (isCramped || kept >= limit))
  }

  // MARK: The client's side

  mutating func append(_ more: UnsafeRawBufferPointer) {
    var rest = more[...]
    while !rest.isEmpty {
      if kept == blocks.count * ReplayAccount.step { addBlock() }
      let piece = rest.prefix(blocks.count * ReplayAccount.step - kept)
      blocks[blocks.count - 1].append(contentsOf: UnsafeRawBufferPointer(rebasing: piece))
      kept += piece.count
      rest = rest.dropFirst(piece.count)
    }
    trim()
  }

  private mutating func addBlock() {
    var block: [UInt8] = []
    // The first one is as large as a small body.
    if !blocks.isEmpty { block.reserveCapacity(ReplayAccount.step) }
    blocks.append(block)
  }

  mutating func finish() {
    isComplete = true
  }

  // MARK: The attempts' side

  mutating func read(into target: UnsafeMutableRawBufferPointer) -> BodySupply {
    guard unread > 0, !target.isEmpty else { return isComplete && unread == 0 ? .end : .pause }
    let count = copy(blocks[taken / ReplayAccount.step], into: target)
    taken += count
    trim()
    return .bytes(count)
  }

  /// Copies what is not taken of the block in which that begins. Returns the number of bytes.
  private func copy(_ block: [UInt8], into target: UnsafeMutableRawBufferPointer) -> Int {
    let offset = taken % ReplayAccount.step
    let count = min(target.count, block.count - offset)
    block.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count])) }
    return count
  }

  /// Begins again for another attempt. Returns false if bytes that an earlier one took are gone.
  @discardableResult
  mutating func rewind() -> Bool {
    guard !hasLetGo else { return false }
    isHeld = false
    taken = 0
    return true
  }

  // MARK: What is kept

  /// Another attempt follows: lets nothing go until that begins, or ``release()``.
  mutating func hold() { isHeld = true }

  /// No other attempt follows for now.
  mutating func release() { isHeld = false }

  /// No other attempt will follow: keeps nothing that was taken from now on.
  mutating func stopKeeping() {
    limit = 0
    trim()
    share = nil
  }

  /// Lets go of what was taken if there is more than may be kept.
  private mutating func trim() {
    if !hasLetGo {
      isCramped = !fits()
      guard isCramped, !isHeld else { return }
    }
    if taken > 0 { letGo() }
  }

  /// Whether all that is there may be kept.
  private mutating func fits() -> Bool {
    guard kept <= limit else { return false }
    return kept <= Self.window || share?.grows(to: kept - Self.window) ?? false
  }

  private mutating func letGo() {
    hasLetGo = true
    share = nil
    // The last block stays, for what comes.
    let gone = min(taken / ReplayAccount.step, blocks.count - 1)
    blocks.removeFirst(gone)
    taken -= gone * ReplayAccount.step
    kept -= gone * ReplayAccount.step
    guard unread == 0 else { return }
    blocks[0].removeAll(keepingCapacity: !isComplete)
    (taken, kept) = (0, 0)
  }
}

/// The bytes beyond ``ReplayBuffer/window`` each that the bodies of a process keep, so that they can be sent again. They
/// are counted in steps.
final class ReplayAccount: Sendable {
  /// The bytes of one step, and of a block of a body.
  static let step = 64 << 10
  /// The most bytes of a process.
  static let mostBytes = 256 << 20

  private let limit: Int
  private let count = Atomic(0)

  init(limit: Int = ReplayAccount.mostBytes) {
    self.limit = limit
  }

  /// The bytes that are kept now.
  var bytes: Int { count.load(ordering: .relaxed) }

  /// Takes so many bytes; false if there are not as many.
  fileprivate func take(_ bytes: Int) -> Bool {
    var present = count.load(ordering: .relaxed)
    while present + bytes <= limit {
      let (isDone, found) = count.weakCompareExchange(
        expected: present, desired: present + bytes, ordering: .relaxed)
      if isDone { return true }
      present = found
    }
    return false
  }

  fileprivate func giveBack(_ bytes: Int) { count.subtract(bytes, ordering: .relaxed) }
}

/// The share of one body in the account of its process, which goes back with it.
private final class ReplayShare {
  private let account: ReplayAccount
  private var bytes = 0

  init(of account: ReplayAccount) {
    self.account = account
  }

  deinit { account.giveBack(bytes) }

  /// Returns false if the account has too little for so many bytes.
  func grows(to needed: Int) -> Bool {
    guard needed > bytes else { return true }
    let step = ReplayAccount.step
    let more = (needed - bytes + step - 1) / step * step
    guard account.take(more) else { return false }
    bytes += more
    return true
  }
}

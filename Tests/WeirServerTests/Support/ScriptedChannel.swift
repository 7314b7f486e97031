import Synchronization
import WeirServer

/// A channel whose handshake is the line `HELLO`, answered by `WELCOME`. Then all bytes pass unchanged, but for one that
/// says that the sender has ended, one that breaks the channel, and one of which nothing comes out.
final class ScriptedChannel: SecureChannel {
  static let end: UInt8 = 0
  static let broken: UInt8 = 1
  static let void: UInt8 = 2

  /// How handshakes ended, from any thread.
  final class Record: Sendable {
    private let list = Mutex<[HandshakeEnd]>([])
    var all: [HandshakeEnd] { list.withLock { $0 } }
    func append(_ end: HandshakeEnd) { list.withLock { $0.append(end) } }
  }

  private let space: Int
  private let piece: Int
  private let record: Record
  private var input: [UInt8] = []
  private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 1)
  private var pending = 0..<0
  private var isOpen = false

  /// - Parameters:
  ///   - space: The bytes that it takes at once.
  ///   - piece: The bytes that it gives at once.
  init(space: Int, piece: Int = .max, record: Record) {
    self.space = space
    self.piece = piece
    self.record = record
  }

  deinit { memory.deallocate() }

  var inputSpace: Int { max(0, space - input.count) }

  func take(_ ciphertext: UnsafeRawBufferPointer) { input += ciphertext }

  func step() -> SecureChannelState {
    if input.starts(with: Array("GET".utf8)) { return .plainHTTP }
    guard let end = input.firstIndex(of: UInt8(ascii: "\n")) else { return .needsInput }
    let line = String(decoding: input[..<end], as: UTF8.self)
    guard line == "HELLO" else {
      put("ALERT\n")
      return .failed("it said \(line)")
    }
    input.removeFirst(end + 1)
    put("WELCOME\n")
    isOpen = true
    return .open
  }

  func handshakeEnded(_ end: HandshakeEnd) { record.append(end) }

  func read(into target: UnsafeMutableRawBufferPointer) -> SecureChannelRead {
    input = Array(input.drop { $0 == Self.void })
    switch input.first {
    case nil: return .needsInput
    case Self.end: return .closed
    case Self.broken:
      put("ALERT\n")
      return .failed
    default:
      let bytes = input.prefix(min(target.count, piece)).prefix { $0 > Self.void }
      target.copyBytes(from: bytes)
      input.removeFirst(bytes.count)
      return .bytes(bytes.count)
    }
  }

  func write(_ plaintext: UnsafeRawBufferPointer) -> Bool {
    put(plaintext)
    return isOpen
  }

  func closeNotify() { if isOpen { put("\u{0}") } }

  var output: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[pending]) }

  func consumeOutput(_ count: Int) {
    pending.removeFirst(count)
    if pending.isEmpty { pending = 0..<0 }
  }

  private func put(_ text: String) { Array(text.utf8).withUnsafeBytes { put($0) } }

  private func put(_ bytes: UnsafeRawBufferPointer) {
    UnsafeMutableRawBufferPointer(rebasing: memory[pending.upperBound...]).copyMemory(from: bytes)
    pending = pending.lowerBound..<pending.upperBound + bytes.count
  }
}

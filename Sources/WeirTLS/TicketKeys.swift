internal import CTLS
internal import Synchronization

/// A key of session tickets (RFC 5077 §4).
struct TicketKey: Sendable, Equatable {
  /// 16 bytes, which each ticket of the key begins with.
  let name: [UInt8]
  /// 32 bytes, for HMAC-SHA-256.
  let mac: [UInt8]
  /// 32 bytes, for AES-256 in CBC mode.
  let cipher: [UInt8]

  /// Takes 80 bytes apart; nil for another number of them.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == TLSSettings.ticketKeyLength else { return nil }
    name = Array(bytes[..<16])
    mac = Array(bytes[16..<48])
    cipher = Array(bytes[48...])
  }

  /// A key of random bytes; nil if the system has none.
  static func draw() -> TicketKey? {
    var bytes = [UInt8](repeating: 0, count: TLSSettings.ticketKeyLength)
    guard RAND_bytes(&bytes, CInt(bytes.count)) == 1 else { return nil }
    return TicketKey(bytes)
  }
}

/// The ticket keys of a context, either given or drawn. Contexts that follow one another share the drawn ones.
final class TicketKeys: Sendable {
  /// The seconds for which a drawn key encrypts. It decrypts for as long again.
  static let period = 12.0 * 3600

  private struct Drawn {
    var current: TicketKey
    var previous: TicketKey?
    /// The time in seconds at which the current key began to encrypt.
    var since: Double
  }

  private enum Source {
    case given([TicketKey])
    case drawn(Drawn)
  }

  let isDrawn: Bool
  private let source: Mutex<Source>

  init(given keys: [[UInt8]]) throws(TLSProblem) {
    guard (1...TLSSettings.maximumTicketKeys).contains(keys.count) else { throw .ticketKeyCount(keys.count) }
    var read: [TicketKey] = []
    for (index, bytes) in keys.enumerated() {
      guard let key = TicketKey(bytes) else { throw .ticketKeyLength(index: index, length: bytes.count) }
      read.append(key)
    }
    isDrawn = false
    source = Mutex(.given(read))
  }

  init(drawnAt now: Double) throws(TLSProblem) {
    OpenSSLError.clear()
    guard let key = TicketKey.draw() else { throw .internalFailure(detail: OpenSSLError.take().text) }
    isDrawn = true
    source = Mutex(.drawn(Drawn(current: key, previous: nil, since: now)))
  }

  /// The key for new tickets; nil if one was due and could not be drawn.
  func forEncrypting(now: Double) -> TicketKey? { keys(now: now)?.first }

  /// The key of a ticket's name, and whether the ticket is to be replaced by one of the encrypting key; nil if there is
  /// none.
  func forDecrypting(name: UnsafeBufferPointer<UInt8>, now: Double) -> (key: TicketKey, isOld: Bool)? {
    guard let keys = keys(now: now), let place = keys.firstIndex(where: { $0.name.elementsEqual(name) }) else {
      return nil
    }
    return (keys[place], place > 0)
  }

  /// The valid keys, the encrypting one first.
  private func keys(now: Double) -> [TicketKey]? {
    source.withLock { source in
      switch source {
      case .given(let keys): return keys
      case .drawn(var drawn):
        guard Self.rotate(&drawn, now: now) else { return nil }
        source = .drawn(drawn)
        return [drawn.current] + (drawn.previous.map { [$0] } ?? [])
      }
    }
  }

  /// Keys change at whole periods after the first was drawn, however late the change is noticed. So none decrypts
  /// longer than two periods.
  private static func rotate(_ drawn: inout Drawn, now: Double) -> Bool {
    let periods = ((now - drawn.since) / period).rounded(.down)
    guard periods >= 1 else { return true }
    guard let key = TicketKey.draw() else { return false }
    drawn.previous = periods < 2 ? drawn.current : nil
    drawn.current = key
    drawn.since += periods * period
    return true
  }
}

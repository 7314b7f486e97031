/// Bounds what one transfer may receive or send in a turn of the loop, before the others have had theirs.
///
/// It is counted in bytes. But each piece takes time, whatever it holds: a call that reads or writes, a record of TLS, a
/// chunk, a frame. So a piece counts for at least `leastPiece` bytes, and a peer that sends its bytes one by one takes
/// no more time from the others than one that sends them at once.
package struct TurnShare {
  package static let bytes = 262_144
  package static let leastPiece = 1024

  private var left = bytes

  package init() {}

  package var isUsedUp: Bool { left <= 0 }

  package mutating func count(_ bytes: Int) { left -= max(bytes, Self.leastPiece) }
}

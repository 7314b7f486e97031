import WeirHTTP

/// The lines that wait to be written, up to a limit of lines and of bytes. A value.
///
/// Lines that were taken count until they are settled, so that the limits hold for all memory of the log.
struct AccessLogQueue {
  static let mostLines = 8192
  static let mostBytes = 8 << 20

  private let lineLimit: Int
  private let byteLimit: Int
  private var bytes: [UInt8] = []
  /// The number of lines that wait.
  private(set) var lines = 0
  private var takenLines = 0
  private var takenBytes = 0

  init(lines: Int = mostLines, bytes: Int = mostBytes) {
    lineLimit = lines
    byteLimit = bytes
  }

  /// Whether half of the lines or bytes that may wait are there.
  var isHalfFull: Bool { (lines + takenLines) * 2 >= lineLimit || (bytes.count + takenBytes) * 2 >= byteLimit }

  /// Adds lines, each of which ends with a line feed, as far as there is room.
  ///
  /// - Parameter count: The number of the lines.
  /// - Returns: The number of lines at the end that are dropped.
  mutating func add(_ octets: UnsafeRawBufferPointer, lines count: Int) -> Int {
    let lineRoom = lineLimit - lines - takenLines
    let byteRoom = byteLimit - bytes.count - takenBytes
    if count <= lineRoom, octets.count <= byteRoom {
      bytes.append(contentsOf: octets)
      lines += count
      return 0
    }
    var fitting = 0, end = 0
    while fitting < min(count, lineRoom), let feed = octets.firstIndex(of: .lineFeed, in: end..<octets.count),
      feed < byteRoom
    {
      fitting += 1
      end = feed + 1
    }
    bytes.append(contentsOf: octets.octets(0..<end))
    lines += fitting
    return count - fitting
  }

  /// Moves the lines that wait to `buffer`, whose memory is used for those that come.
  ///
  /// - Returns: Their number.
  mutating func take(into buffer: inout [UInt8]) -> Int {
    buffer.removeAll(keepingCapacity: buffer.capacity <= Self.keptBytes)
    swap(&bytes, &buffer)
    (takenLines, takenBytes) = (lines, buffer.count)
    lines = 0
    return takenLines
  }

  /// The lines that were taken are written, or dropped.
  mutating func settle() { (takenLines, takenBytes) = (0, 0) }

  private static let keptBytes = 1 << 20
}

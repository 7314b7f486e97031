/// Readings of one process, from the texts of Linux' /proc (proc(5)). A value that the text doesn't contain is nil.
struct ProcessReadings: Equatable {
  var cpuSeconds: Double?
  var threads: Double?
  /// Seconds since 1970.
  var startTime: Double?
  var virtualBytes: Double?
  var residentBytes: Double?
  var openDescriptors: Double?
  var maxDescriptors: Double?
  var receivedBytes: Double?
  var sentBytes: Double?
}

/// Constants of the system that the numbers in /proc are relative to.
struct ProcessUnits: Equatable {
  /// Clock ticks per second of processor time.
  var ticks: Double
  /// Bytes per page of memory.
  var page: Double
}

/// The parsers of the files' texts, which are not trusted to be well-formed.
enum ProcessText {
  /// Reads `/proc/PID/stat`, with the boot time of `/proc/stat`.
  static func stat(_ text: String, bootTime: Double?, units: ProcessUnits, into readings: inout ProcessReadings) {
    // The second field, the command in parentheses, may hold blanks and parentheses of its own.
    guard let end = text.utf8.lastIndex(of: UInt8(ascii: ")")) else { return }
    let fields = text[end...].dropFirst().split(whereSeparator: \.isWhitespace)
    // Fields are numbered as in proc(5), where the state behind the command is field 3.
    func field(_ number: Int) -> Double? {
      fields.indices.contains(number - 3) ? self.number(fields[number - 3]) : nil
    }
    if units.ticks > 0 {
      if let user = field(14), let system = field(15) { readings.cpuSeconds = (user + system) / units.ticks }
      if let start = field(22), let bootTime { readings.startTime = bootTime + start / units.ticks }
    }
    readings.threads = field(20)
    readings.virtualBytes = field(23)
    readings.residentBytes = field(24).map { $0 * units.page }
  }

  /// The boot time in seconds since 1970, from `/proc/stat`.
  static func bootTime(_ text: String) -> Double? {
    for line in text.split(separator: "\n") where line.hasPrefix("btime ") {
      return number(line.dropFirst("btime ".count))
    }
    return nil
  }

  /// The soft limit on descriptors, from `/proc/PID/limits`: infinite for `unlimited`, and nil if no line gives it.
  static func maxDescriptors(_ text: String) -> Double? {
    let name = "Max open files"
    for line in text.split(separator: "\n") where line.hasPrefix(name) {
      guard let soft = line.dropFirst(name.count).split(separator: " ").first else { return nil }
      return soft == "unlimited" ? .infinity : number(soft)
    }
    return nil
  }

  /// Reads octets from `/proc/PID/net/netstat`: a line of names, then a line of numbers, both beginning with `IpExt:`.
  static func network(_ text: String, into readings: inout ProcessReadings) {
    let lines = text.split(separator: "\n").filter { $0.hasPrefix("IpExt:") }
    guard lines.count >= 2 else { return }
    for (name, number) in zip(lines[0].split(separator: " "), lines[1].split(separator: " ")) {
      switch name {
      case "InOctets": readings.receivedBytes = self.number(number)
      case "OutOctets": readings.sentBytes = self.number(number)
      default: break
      }
    }
  }

  private static func number(_ text: Substring) -> Double? {
    UInt64(text).map { Double($0) }
  }
}

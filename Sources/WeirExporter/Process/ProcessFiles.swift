import Glibc

/// Reads the process' own files in /proc.
struct ProcessFiles: Sendable {
  /// The size limit of a file, enough for every file read here. Only `/proc/stat` of a machine with many processors may
  /// be longer; it is read in parts.
  private static let limit = 1 << 20

  let root: String
  let units: ProcessUnits

  init(root: String = "/proc") {
    self.root = root
    units = ProcessUnits(ticks: Double(sysconf(Int32(_SC_CLK_TCK))), page: Double(sysconf(Int32(_SC_PAGESIZE))))
  }

  func readings() -> ProcessReadings {
    var readings = ProcessReadings()
    if let stat = text("self/stat") {
      // The boot time is not stored, since a machine that has just booted may still set its clock.
      ProcessText.stat(stat, bootTime: text("stat").flatMap(ProcessText.bootTime), units: units, into: &readings)
    }
    readings.openDescriptors = openDescriptors()
    readings.maxDescriptors = text("self/limits").flatMap(ProcessText.maxDescriptors)
    if let network = text("self/net/netstat") { ProcessText.network(network, into: &readings) }
    return readings
  }

  /// The number of open descriptors, and how many there may be.
  func descriptors() -> (open: Int, most: Int)? {
    guard let open = openDescriptors(), let most = text("self/limits").flatMap(ProcessText.maxDescriptors),
      let known = Int(exactly: open), let limit = Int(exactly: most)
    else { return nil }
    return (known, limit)
  }

  /// The number of open descriptors. Since Linux 6.2 it is the directory's size; before, the entries are counted.
  private func openDescriptors() -> Double? {
    let path = root + "/self/fd"
    var status = stat()
    if stat(path, &status) == 0, status.st_size > 0 { return Double(status.st_size) }
    guard let directory = opendir(path) else { return nil }
    defer { closedir(directory) }
    var count = 0
    while let entry = readdir(directory) {
      if entry.pointee.d_name.0 != CChar(bitPattern: UInt8(ascii: ".")) { count += 1 }
    }
    // The directory's own descriptor was open while counting.
    return Double(max(count - 1, 0))
  }

  private func text(_ name: String) -> String? {
    let descriptor = open(root + "/" + name, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    while bytes.count < Self.limit {
      let part = [UInt8](unsafeUninitializedCapacity: 16 * 1024) { buffer, count in
        count = max(read(descriptor, buffer.baseAddress, buffer.count), 0)
      }
      if part.isEmpty { break }
      bytes += part
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}

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
  static func bootTime(_ text: String) -> Double? { line("btime ", of: text).flatMap(number) }

  /// The soft limit on descriptors, from `/proc/PID/limits`: infinite for `unlimited`, and nil if no line gives it.
  static func maxDescriptors(_ text: String) -> Double? {
    guard let soft = line("Max open files", of: text)?.split(separator: " ").first else { return nil }
    return soft == "unlimited" ? .infinity : number(soft)
  }

  /// The rest of the first line that begins with `name`.
  private static func line(_ name: String, of text: String) -> Substring? {
    text.split(separator: "\n").first { $0.hasPrefix(name) }?.dropFirst(name.count)
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

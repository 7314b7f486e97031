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

  /// The system's boot time. It is not stored, since a machine that has just booted may still set its clock.
  func bootTime() -> Double? {
    text("stat").flatMap(ProcessText.bootTime)
  }

  func readings() -> ProcessReadings {
    var readings = ProcessReadings()
    if let stat = text("self/stat") {
      ProcessText.stat(stat, bootTime: bootTime(), units: units, into: &readings)
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

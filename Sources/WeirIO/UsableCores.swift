import CLinux
import Glibc

/// The cores that the system lets this process use at a time.
package enum UsableCores {
  /// At least 1: the cores of its affinity mask (`taskset`, cpusets), or fewer by a quota of cgroup v2 (a container's
  /// limit of CPU, systemd's `CPUQuota=`), rounded up. Quotas of cgroup v1 are not looked at.
  package static var count: Int {
    var cores = cpu_set_t()
    let isKnown = sched_getaffinity(0, MemoryLayout<cpu_set_t>.size, &cores) == 0
    let allowed = withUnsafeBytes(of: cores) { bytes in bytes.reduce(0) { $0 + $1.nonzeroBitCount } }
    // A mask of more than 1,024 cores has no room in the C library's.
    return max(1, min(isKnown ? allowed : sysconf(CInt(_SC_NPROCESSORS_ONLN)), quota ?? .max))
  }

  private static var quota: Int? {
    guard let groups = text(of: "/proc/self/cgroup") else { return nil }
    return quota(groups: groups) { text(of: "/sys/fs/cgroup\($0)/cpu.max") }
  }

  /// The least quota of a process's group and of those that hold it, in cores; nil without one.
  ///
  /// - Parameters:
  ///   - groups: What `/proc/self/cgroup` says.
  ///   - limit: What `cpu.max` of a group says, as `150000 100000` or `max 100000`; nil if there is no such file, as
  ///     for a group that is outside of the container.
  package static func quota(groups: String, limit: (_ group: Substring) -> String?) -> Int? {
    guard let line = groups.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
    var group = line.dropFirst(3), least: Int?
    // A group outside of the container is named from the container's own.
    if group.contains("..") { group = "" }
    while true {
      if group.last == "/" { group.removeLast() }
      if let cores = limit(group).flatMap(cores) { least = min(least ?? cores, cores) }
      guard let slash = group.lastIndex(of: "/") else { return least }
      group = group[..<slash]
    }
  }

  /// The cores of a line of `cpu.max`: the microseconds of CPU that a group has in each period, and the period.
  private static func cores(_ limit: String) -> Int? {
    let numbers = limit.split(whereSeparator: \.isWhitespace).map { Int($0) }
    guard numbers.count == 2, let share = numbers[0], let period = numbers[1], share > 0, period > 0 else { return nil }
    return share / period + (share % period == 0 ? 0 : 1)
  }

  private static func text(of path: String) -> String? {
    (try? SmallFile.bytes(of: path, limit: 64 << 10)).map { String(decoding: $0, as: UTF8.self) }
  }
}

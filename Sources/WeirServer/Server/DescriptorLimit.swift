internal import Glibc

/// How many descriptors the process may have open (`RLIMIT_NOFILE`).
package enum DescriptorLimit {
  /// The soft limit at this moment.
  package static var current: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    return Int(clamping: limit.rlim_cur)
  }

  /// Raises the soft limit to the hard one. Linux keeps it low for programs that use `select`; nothing here does, and
  /// each forwarded request takes two descriptors.
  package static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else {
      return
    }
    // More would only cost memory in programs that size tables by it.
    limit.rlim_cur = min(limit.rlim_max, 1 << 20)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}

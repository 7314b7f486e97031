internal import Glibc

/// The number of descriptors that the process may have open (`RLIMIT_NOFILE`).
package enum DescriptorLimit {
  /// The soft limit at this moment.
  package static var current: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    return Int(clamping: limit.rlim_cur)
  }

  /// Raises the soft limit to the hard one, at most to 1,048,576. Linux keeps it low for programs that use `select`.
  /// Nothing here does, and each forwarded request takes two descriptors.
  package static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else {
      return
    }
    // A higher limit would only cost memory in programs that size tables by it.
    limit.rlim_cur = min(limit.rlim_max, 1 << 20)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}

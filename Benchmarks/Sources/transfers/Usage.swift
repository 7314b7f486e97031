import Glibc

/// The processor time and memory that the process has used so far.
struct Usage {
  var cpuMicroseconds: Double
  var peakMemoryKilobytes: Int

  static var now: Usage {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    func microseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1e6 + Double(time.tv_usec) }
    return Usage(
      cpuMicroseconds: microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
      peakMemoryKilobytes: usage.ru_maxrss)
  }

  static func raiseDescriptorLimit() {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(resource, &limit)
  }
}

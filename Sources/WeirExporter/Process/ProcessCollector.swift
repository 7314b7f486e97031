public import WeirMetrics

/// The standard metrics of a process: processor time, memory, descriptors, threads, start, network.
///
/// Read from /proc when a page asks for them; what the system does not tell is left off. The names are the ones that
/// Prometheus' client libraries share. Network bytes are those of the process' network namespace (IPv4 octets of
/// `/proc/self/net/netstat`), as client_golang has them: in a container its own, on a host those of all processes.
public struct ProcessCollector: Collector {
  private let files: ProcessFiles

  /// Of this process.
  public init() {
    files = ProcessFiles()
  }

  init(files: ProcessFiles) {
    self.files = files
  }

  public var metrics: [CollectedMetric] {
    Self.table.map(\.metric)
  }

  public func collect(into samples: inout CollectedSamples) {
    let readings = files.readings()
    for (metric, value) in Self.table {
      if let value = value(readings) { samples.set(metric.name, value) }
    }
  }

  private static let table: [(metric: CollectedMetric, value: @Sendable (ProcessReadings) -> Double?)] = [
    (
      CollectedMetric(
        "process_cpu_seconds_total", help: "Total user and system CPU time spent in seconds.", kind: .counter),
      { $0.cpuSeconds }
    ),
    (
      CollectedMetric("process_max_fds", help: "Maximum number of open file descriptors.", kind: .gauge),
      { $0.maxDescriptors }
    ),
    (
      CollectedMetric(
        "process_network_receive_bytes_total", help: "Number of bytes received by the process over the network.",
        kind: .counter),
      { $0.receivedBytes }
    ),
    (
      CollectedMetric(
        "process_network_transmit_bytes_total", help: "Number of bytes sent by the process over the network.",
        kind: .counter),
      { $0.sentBytes }
    ),
    (
      CollectedMetric("process_open_fds", help: "Number of open file descriptors.", kind: .gauge),
      { $0.openDescriptors }
    ),
    (
      CollectedMetric("process_resident_memory_bytes", help: "Resident memory size in bytes.", kind: .gauge),
      { $0.residentBytes }
    ),
    (
      CollectedMetric(
        "process_start_time_seconds", help: "Start time of the process since unix epoch in seconds.", kind: .gauge),
      { $0.startTime }
    ),
    (CollectedMetric("process_threads", help: "Number of threads.", kind: .gauge), { $0.threads }),
    (
      CollectedMetric("process_virtual_memory_bytes", help: "Virtual memory size in bytes.", kind: .gauge),
      { $0.virtualBytes }
    ),
  ]
}

public import WeirMetrics

/// The standard metrics of a process: processor time, memory, descriptors, threads, start, network.
///
/// They are read from /proc when a page asks for them. Values that the system does not provide are left out. The names
/// are the ones that Prometheus' client libraries share. Network bytes are those of the process' network namespace
/// (IPv4 octets of `/proc/self/net/netstat`), as in client_golang: in a container its own, on a host those of all
/// processes.
public struct ProcessCollector: Collector {
  private var files = ProcessFiles()

  /// Makes a collector for this process.
  public init() {}

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

  private typealias Row = (metric: CollectedMetric, value: @Sendable (ProcessReadings) -> Double?)

  private static let table: [Row] = [
    row("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", \.cpuSeconds, .counter),
    row("process_max_fds", "Maximum number of open file descriptors.", \.maxDescriptors),
    row(
      "process_network_receive_bytes_total", "Number of bytes received by the process over the network.",
      \.receivedBytes, .counter),
    row(
      "process_network_transmit_bytes_total", "Number of bytes sent by the process over the network.", \.sentBytes,
      .counter),
    row("process_open_fds", "Number of open file descriptors.", \.openDescriptors),
    row("process_resident_memory_bytes", "Resident memory size in bytes.", \.residentBytes),
    row("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", \.startTime),
    row("process_threads", "Number of threads.", \.threads),
    row("process_virtual_memory_bytes", "Virtual memory size in bytes.", \.virtualBytes),
  ]

  private static func row(
    _ name: String, _ help: String, _ value: @escaping @Sendable (ProcessReadings) -> Double?,
    _ kind: CollectedMetric.Kind = .gauge
  ) -> Row {
    (CollectedMetric(name, help: help, kind: kind), value)
  }
}

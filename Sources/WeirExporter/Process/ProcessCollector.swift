public import WeirMetrics

/// The standard metrics of a process: processor time, memory, descriptors, threads, start, network.
///
/// They are read from /proc when a page asks for them. Values that the system does not provide are left out. The names
/// are the ones that Prometheus' client libraries share. Network bytes are those of the process' network namespace
/// (IPv4 octets of `/proc/self/net/netstat`), as in client_golang: in a container its own, on a host those of all
/// processes.
public struct ProcessCollector: Collector {
  private let files: ProcessFiles

  /// Makes a collector for this process.
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

  private typealias Row = (metric: CollectedMetric, value: @Sendable (ProcessReadings) -> Double?)

  private static let table: [Row] = [
    counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.") { $0.cpuSeconds },
    gauge("process_max_fds", "Maximum number of open file descriptors.") { $0.maxDescriptors },
    counter("process_network_receive_bytes_total", "Number of bytes received by the process over the network.") {
      $0.receivedBytes
    },
    counter("process_network_transmit_bytes_total", "Number of bytes sent by the process over the network.") {
      $0.sentBytes
    },
    gauge("process_open_fds", "Number of open file descriptors.") { $0.openDescriptors },
    gauge("process_resident_memory_bytes", "Resident memory size in bytes.") { $0.residentBytes },
    gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.") { $0.startTime },
    gauge("process_threads", "Number of threads.") { $0.threads },
    gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.") { $0.virtualBytes },
  ]

  private static func counter(
    _ name: String, _ help: String, _ value: @escaping @Sendable (ProcessReadings) -> Double?
  ) -> Row {
    (CollectedMetric(name, help: help, kind: .counter), value)
  }

  private static func gauge(
    _ name: String, _ help: String, _ value: @escaping @Sendable (ProcessReadings) -> Double?
  ) -> Row {
    (CollectedMetric(name, help: help, kind: .gauge), value)
  }
}

import Glibc
import Testing
import WeirMetrics

@testable import WeirExporter

@Suite struct ProcessCollectorTests {
  private func samples(_ registry: Registry) -> [String: Double] {
    var samples: [String: Double] = [:]
    for line in registry.text().split(separator: "\n") where !line.hasPrefix("#") {
      let parts = line.split(separator: " ")
      samples[String(parts[0])] = Double(parts[1])
    }
    return samples
  }

  @Test func tellsOfThisProcess() throws {
    let registry = Registry(ownMetrics: false)
    try registry.register(ProcessCollector())
    let before = samples(registry)
    #expect(
      before.keys.sorted() == [
        "process_cpu_seconds_total", "process_max_fds", "process_network_receive_bytes_total",
        "process_network_transmit_bytes_total", "process_open_fds", "process_resident_memory_bytes",
        "process_start_time_seconds", "process_threads", "process_virtual_memory_bytes",
      ])
    var used = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
    let seconds = Double(used.tv_sec)
    let now = Double(time(nil))
    #expect(try #require(before["process_cpu_seconds_total"]) <= seconds + 2)
    #expect(try #require(before["process_start_time_seconds"]) <= now + 1)
    #expect(try #require(before["process_start_time_seconds"]) > now - 86_400)
    #expect(try #require(before["process_resident_memory_bytes"]) > 1_000_000)
    #expect(
      try #require(before["process_virtual_memory_bytes"]) >= #require(before["process_resident_memory_bytes"]))
    #expect(try #require(before["process_threads"]) >= 1)
    #expect(try #require(before["process_max_fds"]) >= #require(before["process_open_fds"]))
  }

  /// Other tests open and close files too: so many that theirs don't matter.
  @Test func countsDescriptors() throws {
    let files = ProcessFiles()
    let before = try #require(files.readings().openDescriptors)
    let opened = (0..<200).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
    defer { for descriptor in opened where descriptor >= 0 { close(descriptor) } }
    #expect(opened.allSatisfy { $0 >= 0 })
    #expect(try #require(files.readings().openDescriptors) >= before + 100)
  }

  @Test func leavesOutWhatCanNotBeRead() throws {
    let registry = Registry(ownMetrics: false)
    try registry.register(ProcessCollector(files: ProcessFiles(root: "/nonexistent")))
    #expect(registry.text() == "")
  }
}

import Foundation
import Glibc
import Testing
import WeirTestSupport

/// Clients that ask for a large response and take next to nothing of it.
@Suite(.needs(.shippedWeir, .nginx), .timeLimit(.minutes(5))) struct SlowReaderTests {
  private static let clients = 500
  private static let size = 1 << 30
  /// Bytes that each client reads.
  private static let share = 64 << 10

  @Test func theyNeedLittleMemoryAndNoTime() async throws {
    try #require(ThisProcess.raiseDescriptorLimit(to: UInt(Self.clients) + 256))
    let origin = try await NginxServer(config: "sendfile on;")
    try origin.makeFile("large", size: Self.size)
    let directory = try TemporaryDirectory()
    let config = try directory.file(
      "weir.yml", "routes: [{name: all, upstream: \"http://127.0.0.1:\(origin.port())\"}]\n")
    let weir = try await WeirProgram(["--config.file=\(config)", "--gateway.workers=1"], program: .shippedWeir)
    var readers: [WireClient] = []
    for _ in 0..<Self.clients {
      let reader = try WireClient(port: weir.port)
      reader.send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
      readers.append(reader)
    }
    for _ in 0..<2 {
      for reader in readers {
        #expect(reader.read { $0.count >= Self.share })
        _ = reader.take(reader.bytes.count)
      }
    }
    // Once the buffers of all sockets are full, the process has nothing more to do. The system counts CPU in hundredths.
    var cpu = 0.0
    try await eventually("two seconds cost nothing", within: 40) {
      let before = try Self.cpu(of: weir.peer.pid)
      try await letPass(2)
      cpu = try Self.cpu(of: weir.peer.pid) - before
      return (cpu * 100).rounded() <= 2 || ThisProcess.isSanitized
    }
    let peak = try Self.peak(of: weir.peer.pid)
    let told: Comment = "\(peak >> 20) MiB, \(cpu) s of CPU in 2 s"
    print(told)
    #expect(peak <= 100 << 20 || ThisProcess.isSanitized, told)
    for reader in readers { #expect(reader.ending == nil) }
  }

  /// The most resident memory that the process ever had, as proc_pid_status(5) tells.
  private static func peak(of pid: Int32) throws -> Int {
    let line = try ThisProcess.text(ofFile: "/proc/\(pid)/status").split(separator: "\n").first {
      $0.hasPrefix("VmHWM:")
    }
    return try #require(line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }) << 10
  }

  /// Seconds of CPU that the process has had, as proc_pid_stat(5) tells, in hundredths.
  private static func cpu(of pid: Int32) throws -> Double {
    // The name is in brackets, and may have blanks.
    let text = try ThisProcess.text(ofFile: "/proc/\(pid)/stat").split(separator: ")").last
    let fields = (text ?? "").split(separator: " ")
    let (user, system) = (try #require(fields.dropFirst(11).first), try #require(fields.dropFirst(12).first))
    return ((Double(user) ?? 0) + (Double(system) ?? 0)) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}

import Foundation
import Glibc
import Synchronization
import WeirIO

/// A program that a test runs beside itself: started at once, killed with all its children when the last reference
/// goes. What it writes is kept in a file, for the message of a test that fails.
package final class Peer: Sendable {
  package let pid: Int32
  private let name: String
  private let log: String
  private let exit = Mutex<ExitStatus?>(nil)

  package enum ExitStatus: Sendable, Equatable {
    case exited(Int)
    case killed(signal: Int)
  }

  package init(_ tool: Tool, _ arguments: [String], environment: [String: String] = [:]) throws {
    name = tool.name
    log = "\(PeerKeeper.shared.directory)/\(UUID().uuidString).log"
    pid = try ChildProcess(arguments: arguments, environment: environment, output: log).spawn(try tool.path)
    PeerKeeper.shared.keep(pid)
  }

  deinit {
    stop()
    unlink(log)
  }

  /// Kills it with its children, unless it has ended by itself, and returns when they are gone, or after a minute: a child
  /// that still lives keeps open the sockets that it inherited, such as a name server's child that answered over TCP.
  package func stop() {
    exit.withLock { exit in
      if exit == nil { exit = end(0, killing: true) }
    }
  }

  package func send(signal: Int32) {
    exit.withLock { exit in
      if exit == nil { kill(pid, signal) }
    }
  }

  /// Whether SIGSTOP has reached all its threads: until then some may run on.
  package var isStopped: Bool {
    get throws {
      let tasks = "/proc/\(pid)/task"
      return try FileManager.default.contentsOfDirectory(atPath: tasks).allSatisfy {
        try Self.statusFields("\(tasks)/\($0)/stat").first == "T"
      }
    }
  }

  /// Nil as long as it runs.
  package var exitStatus: ExitStatus? {
    exit.withLock { exit in
      if exit == nil { exit = end(WNOHANG, killing: false) }
      return exit
    }
  }

  /// Takes its exit status, once it has ended. Until that is taken nobody else can have its number, and afterwards
  /// anybody can: so its group is killed before, and no signal is sent after.
  private func end(_ options: CInt, killing: Bool) -> ExitStatus? {
    if killing { kill(-pid, SIGKILL) }
    var info = siginfo_t()
    guard (try? systemCall { waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT | options) }) != nil,
      info.si_signo == SIGCHLD
    else { return nil }
    kill(-pid, SIGKILL)
    let end = ContinuousClock.now + .seconds(60)
    while killing, groupLives, ContinuousClock.now < end { usleep(1000) }
    PeerKeeper.shared.forget(pid)
    return Self.reap(pid)
  }

  /// Whether a process of its group still runs. A zombie holds nothing open.
  private var groupLives: Bool {
    let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return processes.contains { process in
      guard Int(process) != nil, let fields = try? Self.statusFields("/proc/\(process)/stat"), fields.count > 2 else {
        return false
      }
      return fields[2] == "\(pid)" && fields[0] != "Z" && fields[0] != "X"
    }
  }

  /// What stands behind the name, which is in brackets, of a file of proc_pid_stat(5): the state, the parent, the group.
  private static func statusFields(_ file: String) throws -> [Substring] {
    try String(contentsOfFile: file, encoding: .utf8).split(separator: ")").last?.split(separator: " ") ?? []
  }

  /// What it wrote so far, errors included.
  package var output: String {
    (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
  }

  /// The processes that it started and that still run.
  package var children: [Int32] {
    let list = try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
    return (list ?? "").split(separator: " ").compactMap { Int32($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
  }

  /// - Throws: ``PeerError`` if it still runs after so many seconds.
  package func waitForExit(within seconds: Double = 300) async throws -> ExitStatus {
    try await wait(until: "\(name) has ended", within: seconds) { exitStatus }
  }

  /// - Throws: ``PeerError`` if it ends, or nobody listens there after so many seconds.
  package func waitForPort(_ port: Int, within seconds: Double = 120) async throws {
    try await wait(until: "\(name) listens at port \(port)", within: seconds) {
      if let exitStatus { throw PeerError("\(name) ended (\(exitStatus))") }
      return LoopbackPort.accepts(port) ? () : nil
    }
  }

  private func wait<Value>(
    until what: String, within seconds: Double, _ condition: () throws -> Value?
  ) async throws -> Value {
    do {
      return try await eventually(what, within: seconds) { try condition() }
    } catch {
      throw PeerError("\(error):\n\(output)")
    }
  }

  private static func reap(_ pid: Int32) -> ExitStatus? {
    var status: CInt = 0
    guard (try? systemCall { waitpid(pid, &status, 0) }) == pid else { return nil }
    let signal = Int(status & 0x7F)
    return signal == 0 ? .exited(Int((status >> 8) & 0xFF)) : .killed(signal: signal)
  }
}

/// Why a program beside a test didn't do what the test needs.
package struct PeerError: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}

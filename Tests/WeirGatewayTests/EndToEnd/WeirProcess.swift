import Foundation
import Glibc
import Synchronization
import WeirTestSupport

/// The built program `weir` as a process of its own; killed when let go, with those that have taken over from it.
final class WeirProcess: Sendable {
  private let process: Child
  private let output = Output()

  /// Waited for at most once: afterwards its number may be another's.
  private final class Child: Sendable {
    let identifier: pid_t
    private let status = Mutex<CInt?>(nil)

    init(identifier: pid_t) {
      self.identifier = identifier
    }

    /// The exit status; nil while it runs, and 128 more than the signal for one that a signal ended.
    func poll() -> CInt? {
      status.withLock { known in
        if let known { return known }
        var raw: CInt = 0
        guard waitpid(identifier, &raw, WNOHANG) == identifier else { return nil }
        known = raw & 0x7f == 0 ? (raw >> 8) & 0xff : 128 + (raw & 0x7f)
        return known
      }
    }
  }

  /// The read end of its standard output and error, read by a thread, so that it never waits, and by those who ask.
  private final class Output: Sendable {
    let pipe = Pipe()
    private let written = Mutex<[UInt8]>([])

    /// Reads until the last writer is gone.
    func follow() {
      let descriptor = pipe.fileHandleForReading.fileDescriptor
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
      Thread.detachNewThread { [self] in
        repeat {
          var readable = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
          poll(&readable, 1, -1)
        } while written.withLock { read(&$0) }
      }
    }

    var text: String {
      written.withLock { bytes in
        _ = read(&bytes)
        return String(decoding: bytes, as: UTF8.self)
      }
    }

    /// Appends what can be read at once; false at the end.
    private func read(_ bytes: inout [UInt8]) -> Bool {
      var buffer = [UInt8](repeating: 0, count: 65536)
      while true {
        let count = Glibc.read(pipe.fileHandleForReading.fileDescriptor, &buffer, buffer.count)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        bytes += buffer.prefix(count)
      }
    }
  }

  /// - Parameters:
  ///   - descriptors: how many it may have open, soft and hard; nil: as many as this process.
  ///   - variables: its environment beside this process's, as a shell reads it: `A=1 B=$$`.
  ///   - sockets: descriptors that it gets from 3 on.
  init(descriptors: Int? = nil, variables: String = "", sockets: [CInt] = [], _ arguments: String...) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let writing = output.pipe.fileHandleForWriting
    for target in [STDERR_FILENO, STDOUT_FILENO] {
      posix_spawn_file_actions_adddup2(&actions, writing.fileDescriptor, target)
    }
    // Copies with higher numbers, which the targets can't overwrite.
    let copies = sockets.map { fcntl($0, F_DUPFD_CLOEXEC, 200) }
    defer { for copy in copies { close(copy) } }
    for (copy, target) in zip(copies, CInt(3)...) { posix_spawn_file_actions_adddup2(&actions, copy, target) }
    Self.keepDescriptorsToOurselves()
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    var command = [try Self.path()] + arguments
    let limit = descriptors.map { "ulimit -n \($0); " } ?? ""
    if !limit.isEmpty || !variables.isEmpty {
      command = ["/bin/sh", "-c", "\(limit)\(variables) exec \"$0\" \"$@\""] + command
    }
    var argv = command.map { strdup($0) } + [nil]
    defer { for argument in argv { free(argument) } }
    var identifier: pid_t = 0
    let failure = posix_spawn(&identifier, command[0], &actions, &attributes, &argv, environ)
    try writing.close()
    guard failure == 0 else { throw StartFailure(reason: String(cString: strerror(failure))) }
    process = Child(identifier: identifier)
    output.follow()
  }

  /// libcurl opens descriptors that other programs inherit, and tests leave hundreds of them behind.
  private static func keepDescriptorsToOurselves() {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
      if let descriptor = CInt(name), descriptor > 2 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }
  }

  struct StartFailure: Error {
    let reason: String
  }

  deinit {
    // As long as one that has taken over runs, no other group has this number.
    if successor != nil { kill(-process.identifier, SIGKILL) }
    if process.poll() == nil {
      kill(process.identifier, SIGKILL)
      var status: CInt = 0
      waitpid(process.identifier, &status, 0)
    }
  }

  var identifier: pid_t { process.identifier }

  /// All that it wrote so far: a line written before an answer, a notice or the end is there once those are.
  var text: String { output.text }

  var exitStatus: CInt? { process.poll() }

  func send(_ signal: CInt) {
    if process.poll() == nil { kill(process.identifier, signal) }
  }

  /// The last process that was started to take over.
  var successor: pid_t? {
    let line = text.split(separator: "\n").last { $0.contains("msg=\"the new process runs\"") }
    return line?.split(separator: " ").last.flatMap { pid_t($0.dropFirst("pid=".count)) }
  }

  /// The number of lines with this message.
  func count(of message: String) -> Int {
    text.split(separator: "\n").count { $0.contains("msg=\"\(message)\"") }
  }

  /// The port of the metrics address, once the log names it.
  var metricsPort: UInt16? {
    let line = text.split(separator: "\n").first { $0.contains("msg=\"serving metrics\"") } ?? ""
    let url = line.split(separator: " ").first { $0.hasPrefix("url=") } ?? ""
    return url.split(separator: ":").last.flatMap { UInt16($0.prefix { $0.isNumber }) }
  }

  /// The port in the log line with this message.
  func port(of message: String) -> UInt16? {
    let line = text.split(separator: "\n").first { $0.contains("msg=\(message) ") }
    return line?.split(separator: " ").first { $0.hasPrefix("url=") }?
      .split(separator: ":").last.flatMap { UInt16($0.prefix { $0.isNumber }) }
  }

  /// Beside the test bundle, whose place the process's own memory map tells.
  private static func path() throws -> String {
    let maps = try ThisProcess.text(ofFile: "/proc/self/maps")
    for line in maps.split(separator: "\n") where line.hasSuffix(".xctest") {
      guard let start = line.firstIndex(of: "/") else { continue }
      let directory = URL(fileURLWithPath: String(line[start...])).deletingLastPathComponent()
      return directory.appendingPathComponent("weir").path
    }
    throw StartFailure(reason: "the test bundle is not in the memory map")
  }
}

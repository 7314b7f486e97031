import CLinux
import Glibc
import WeirIO

/// A process that was started to take over.
struct SuccessorProcess {
  let number: pid_t
  /// This side of the socket pair by which the two processes talk.
  let channel: CInt

  /// Starts a program. It inherits the sockets and one end of a new socket pair, under their numbers, and no other
  /// descriptor but the standard streams, since all others have `FD_CLOEXEC`.
  ///
  /// - Parameters:
  ///   - arguments: The arguments, of which the first is the program's name.
  ///   - sockets: The listeners' descriptors, with the addresses that were asked for.
  init(
    _ path: String, arguments: [String], environment: [String], sockets: [HandedOver.Item]
  ) throws(Errno) {
    var pair: [CInt] = [-1, -1]
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    _ = try systemCall { socketpair(AF_UNIX, kind, 0, &pair) }
    defer { close(pair[1]) }
    let handedOver = HandedOver(channel: pair[1], items: sockets)
    let inherited = sockets.map(\.descriptor) + [pair[1]]
    let variables = environment + ["\(HandedOver.variable)=\(handedOver.text)"]
    do {
      number = try Self.spawn(path, arguments, variables, inherited)
    } catch {
      close(pair[0])
      throw error
    }
    channel = pair[0]
  }

  private static func spawn(
    _ path: String, _ arguments: [String], _ environment: [String], _ descriptors: [CInt]
  ) throws(Errno) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    try check(posix_spawn_file_actions_init(&actions))
    defer { posix_spawn_file_actions_destroy(&actions) }
    try check(posix_spawnattr_init(&attributes))
    defer { posix_spawnattr_destroy(&attributes) }
    // A descriptor that is duplicated onto itself loses FD_CLOEXEC, in the new process alone.
    for descriptor in descriptors {
      try check(posix_spawn_file_actions_adddup2(&actions, descriptor, descriptor))
    }
    // Ignored signals and the mask are inherited otherwise.
    var none = sigset_t(), pipe = sigset_t()
    sigemptyset(&none)
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    try check(posix_spawnattr_setsigmask(&attributes, &none))
    try check(posix_spawnattr_setsigdefault(&attributes, &pipe))
    try check(posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)))
    var argv = arguments.map { strdup($0) } + [nil], envp = environment.map { strdup($0) } + [nil]
    defer { for text in argv + envp { free(text) } }
    var number: pid_t = 0
    try check(posix_spawn(&number, path, &actions, &attributes, &argv, &envp))
    return number
  }

  /// These functions return the error's number.
  private static func check(_ result: CInt) throws(Errno) {
    if result != 0 { throw Errno(rawValue: result) }
  }

  /// Ends the process, if it has not ended, and returns how it ended.
  func end() -> String {
    close(channel)
    kill(number, SIGKILL)
    var status: CInt = 0
    guard (try? systemCall { waitpid(number, &status, 0) }) == number else { return "it is gone" }
    let signal = status & 0x7f
    return signal == 0 ? "it ended with the status \((status >> 8) & 0xff)" : "it was ended by signal \(signal)"
  }
}

/// The file from which the program is started again.
enum ProgramFile {
  /// - Parameters:
  ///   - started: The path by which the program was started. It may lead to a newer file by now.
  ///   - link: The file that runs, as /proc/self/exe tells; ` (deleted)` follows the path once the file has been removed
  ///     or replaced (proc_pid_exe(5)).
  ///   - isExecutable: Whether there is a file that may be run at a path.
  static func path(started: String?, link: String?, isExecutable: (String) -> Bool) -> String? {
    let deleted = " (deleted)"
    let running = link.map { $0.hasSuffix(deleted) ? String($0.dropLast(deleted.count)) : $0 }
    return [started, running].compactMap(\.self).first { !$0.isEmpty && isExecutable($0) }
  }

  /// The file for this process; nil if it is gone.
  static func current() -> String? {
    path(started: started, link: link) { access($0, X_OK) == 0 }
  }

  /// The path as it was given to execve(2): that which a shell found, or which a symbolic link has.
  private static var started: String? {
    let address = getauxval(UInt(AT_EXECFN))
    return UnsafePointer<CChar>(bitPattern: address).map { String(cString: $0) }
  }

  private static var link: String? {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let length = readlink("/proc/self/exe", &path, path.count)
    return length > 0 ? String(decoding: path.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
  }
}

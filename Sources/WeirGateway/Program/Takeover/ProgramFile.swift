import CLinux
import Glibc

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

import Glibc
import Weir

/// The program `weir`.
package enum Program {
  /// Does what the arguments (without the program's name) ask for, and returns the exit status: 0, 1 when it failed, 2
  /// for a command line that can't be followed.
  package static func run(_ arguments: [String]) -> CInt {
    let command: Command
    do {
      command = try Command(parsing: arguments)
    } catch {
      write("weir: \(error)\n", to: STDERR_FILENO)
      return 2
    }
    switch command {
    case .help(let topic):
      write(topic.usage, to: STDOUT_FILENO)
      return 0
    case .version:
      write("weir \(WeirInfo.version)\n", to: STDOUT_FILENO)
      return 0
    case .check(let file): return check(file)
    case .serve, .probe:
      write("weir: this build can't do that yet\n", to: STDERR_FILENO)
      return 1
    }
  }

  private static func check(_ file: String) -> CInt {
    do {
      let configuration = try Configuration(file: file)
      let count = configuration.routes.count
      write("\(file): \(count) \(count == 1 ? "route" : "routes"), no problems\n", to: STDOUT_FILENO)
      return 0
    } catch {
      write("\(error)\n", to: STDERR_FILENO)
      return 1
    }
  }

  private static func write(_ text: String, to descriptor: CInt) {
    Logger.write(Array(text.utf8), to: descriptor)
  }
}

import Foundation
import Glibc

/// What the system says of the process that the tests run in.
package enum ThisProcess {
  package static var openDescriptors: Int {
    get throws { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
  }

  package static var residentBytes: Int {
    get throws {
      let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
      return (Int(text.split(separator: " ")[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
  }

  /// Whether its memory says nothing: a sanitizer keeps what is freed for a while.
  package static var isSanitized: Bool {
    dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
  }
}

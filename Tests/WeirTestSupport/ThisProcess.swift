import CDescriptors
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

  /// A file of proc(5), all of it: Foundation takes what the first read brings of a file that has no size.
  package static func text(ofFile path: String) throws -> String {
    let data = try FileHandle(forReadingFrom: URL(fileURLWithPath: path)).readToEnd() ?? Data()
    return String(decoding: data, as: UTF8.self)
  }

  /// Raises the soft limit of descriptors as far as the hard one lets it; false when that is not enough. Tests hold both
  /// ends of their connections.
  package static func raiseDescriptorLimit(to count: UInt) -> Bool {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_cur < count else { return true }
    limit.rlim_cur = min(count, limit.rlim_max)
    return setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 && limit.rlim_cur >= count
  }

  /// Calls `body` while the process finds no descriptor for a connection or a loop; those there are stay.
  package static func withoutFreeDescriptors<Result>(_ body: () throws -> Result) rethrows -> Result {
    descriptors_are_used_up(1)
    defer { descriptors_are_used_up(0) }
    return try body()
  }

  /// Whether its memory says nothing: a sanitizer keeps what is freed for a while.
  package static var isSanitized: Bool {
    dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
  }
}

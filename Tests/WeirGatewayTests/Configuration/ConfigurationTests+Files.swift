import Foundation
import Glibc
import Synchronization
import Testing
import Weir
import WeirTestSupport

@testable import WeirGateway

// Files that are no configuration, and files with many problems.
extension ConfigurationTests {
  @Test func filesThatCannotBeReadAreAnError() {
    let texts = ["/", "/nonexistent/weir.yml", "/dev/zero"].map { file in
      let error = #expect(throws: ConfigurationError.self) { try Configuration(file: file) }
      return error?.description
    }
    #expect(
      texts == [
        "/: can't be read: Is a directory", "/nonexistent/weir.yml: can't be read: No such file or directory",
        "/dev/zero: is a device; give a regular file",
      ])
  }

  /// To open one waits for somebody who writes, at a reload with all that weir does.
  @Test func aNamedPipeIsRefusedAtOnce() throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("weir-\(UUID().uuidString)").path
    try #require(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    let result = Outcome()
    Thread.detachNewThread {
      do {
        _ = try Configuration(file: path)
        result.text.withLock { $0 = "taken" }
      } catch {
        result.text.withLock { $0 = "\(error)" }
      }
    }
    #expect(eventually { result.text.withLock { $0 } != nil })
    #expect(result.text.withLock { $0 } == "\(path): is a pipe; give a regular file")
  }

  private final class Outcome: Sendable {
    let text = Mutex<String?>(nil)
  }

  @Test func aFileLongerThanAMebibyteIsRefused() throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("weir-\(UUID().uuidString)").path
    defer { unlink(path) }
    try Data(repeating: 0x23, count: 3 << 20).write(to: URL(fileURLWithPath: path))
    let error = #expect(throws: ConfigurationError.self) { try Configuration(file: path) }
    #expect(error?.description == "\(path): is 1048577 bytes long; at most 1048576 are read")
  }

  /// 20,000 keys of each kind take a moment, and what is said of them stays readable.
  @Test(arguments: [
    ("", "", "key%: 1", 20_001),
    ("routes:\n  - name: a\n    upstream: http://h\n", "    ", "key%: 1", 20_000),
    ("routes:\n  - name: a\n    upstream: http://h\n    headers:\n      set:\n", "        ", "'a %': b", 20_000),
    ("routes:\n  - name: a\n    upstream: http://h\n    headers:\n      remove:\n", "        ", "- 'a %'", 20_000),
  ])
  func manyProblemsAreCutShort(start: String, indent: String, line: String, count: Int) {
    let text = start + (0..<20_000).map { indent + line.replacing("%", with: "\($0)") + "\n" }.joined()
    let began = ContinuousClock.now
    let error = #expect(throws: ConfigurationError.self) { try read(text) }
    #expect(ContinuousClock.now - began < .seconds(120))
    let lines = error?.description.split(separator: "\n") ?? []
    #expect(lines.count == 101)
    #expect(lines.last == "weir.yml: and \(count - 100) more problems")
  }

  @Test func manyWarningsAreCutShort() throws {
    let methods = (0..<20_000).map { "M\($0)" }.joined(separator: ", ")
    let text = "routes: [{name: a, upstream: 'http://h', retry: {limit: 1, methods: [\(methods)]}}]"
    let began = ContinuousClock.now
    let warnings = try read(text).warnings
    #expect(ContinuousClock.now - began < .seconds(120))
    #expect(warnings.count == 101)
    #expect(warnings.last?.description(file: "f", severity: "warning") == "f: warning: and 19900 more")
  }

  /// Whatever a file holds, an answer comes, and what is taken is fit for use.
  @Test func survivesAnyFile() {
    let seed = Array(
      #"""
      routes:
        - {name: a, match: {host: h.x, pathPrefix: /v1}, upstream: 'http://[::1]:80/b', stripPrefix: true, timeout: 1m9s}
        - name: "\u0062"
          upstream: https://u
          headers: {set: {X: y}, remove: [Z]}
          retry: {limit: 3, statusCodes: [502], methods: [GET]}
          timeout: 1e3
      """#.utf8)
    var random = Xorshift(state: 11)
    var taken = 0
    for _ in 0..<2000 {
      var bytes = seed
      for _ in 0..<(1 + random.next() % 4) {
        let index = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: index)
        default: bytes.insert(seed[Int(random.next() % UInt64(seed.count))], at: index)
        }
      }
      guard let configuration = try? Configuration(parsing: bytes, file: "f") else { continue }
      taken += 1
      #expect(!configuration.routes.isEmpty)
      #expect(configuration.routes.allSatisfy { $0.timeout > .zero && $0.match.path.isPrefix })
    }
    #expect(taken > 20)
  }
}

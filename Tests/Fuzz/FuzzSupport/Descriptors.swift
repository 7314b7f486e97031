import Foundation

/// Watches that a target doesn't lose descriptors.
package struct Descriptors {
  private var checks = 0

  package init() {}

  /// Looks at one call of 64.
  package mutating func check(limit: Int) {
    checks += 1
    guard checks % 64 == 0 else { return }
    let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    guard open < limit else { fatalError("\(open) descriptors are open") }
  }
}

import Glibc

/// Waits until `condition` gives a value, and returns it.
/// - Throws: ``PeerError`` after so many seconds without one.
///
/// Disfavoured, as a condition of type Bool would be a value that is there even if it is false.
@_disfavoredOverload
package func eventually<Value>(
  _ what: String, within seconds: Double = 120, _ condition: () async throws -> Value?
) async throws -> Value {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while true {
    if let value = try await condition() { return value }
    guard ContinuousClock.now < deadline else { throw PeerError("waited \(seconds) s until \(what)") }
    try await Task.sleep(for: .milliseconds(5))
  }
}

/// Waits until `condition` holds.
package func eventually(
  _ what: String, within seconds: Double = 120, _ condition: () async throws -> Bool
) async throws {
  try await eventually(what, within: seconds) { () async throws -> Void? in try await condition() ? () : nil }
}

/// Waits until `condition` holds; false after two minutes.
package func soon(_ condition: () async -> Bool) async -> Bool {
  (try? await eventually("it is so", condition)) != nil
}

/// Waits until `condition` holds, and blocks its thread meanwhile; false after two minutes.
package func eventually(within seconds: Double = 120, _ condition: () -> Bool) -> Bool {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while !condition() {
    guard ContinuousClock.now < deadline else { return false }
    usleep(2000)
  }
  return true
}

/// Lets so many seconds pass. Only where the time itself is what a test is about: a limit that must end nothing meanwhile, an age
/// that has to be reached, the pace of a slow peer. What happens at some time is waited for by ``eventually``.
package func letPass(_ seconds: Double) async throws {
  try await Task.sleep(for: .seconds(seconds))
}

/// The same, blocking its thread.
package func letPass(_ seconds: Double) {
  usleep(useconds_t(seconds * 1_000_000))
}

public protocol ServiceContextKey: Sendable {
  associatedtype Value: Sendable
}

/// Values that go with a task.
public struct ServiceContext: Sendable {
  @TaskLocal public static var current: ServiceContext?
  private var values: [ObjectIdentifier: any Sendable] = [:]

  public static var topLevel: ServiceContext { ServiceContext() }

  public subscript<Key: ServiceContextKey>(_ key: Key.Type) -> Key.Value? {
    get { values[ObjectIdentifier(key)] as? Key.Value }
    set { values[ObjectIdentifier(key)] = newValue }
  }

  public static func withValue<Result>(
    _ value: ServiceContext?, operation: () async throws -> Result
  ) async rethrows -> Result {
    try await $current.withValue(value, operation: operation)
  }
}

/// The refreshes in which a request is made: the interceptors that are waiting for what it brings must not hold it up.
final class RefreshScope: Sendable {
  /// Stands for an interceptor.
  final class Owner: Sendable {}

  /// Bound while an authenticator's `refresh` runs; Swift tasks that it starts inherit it.
  @TaskLocal static var current: RefreshScope?

  private let owner: Owner
  /// That of the request which made this refresh necessary, if it was made in another one.
  private let outer: RefreshScope?

  init(of owner: Owner, within outer: RefreshScope?) {
    self.owner = owner
    self.outer = outer
  }

  func isPart(of owner: Owner) -> Bool {
    self.owner === owner || outer?.isPart(of: owner) == true
  }
}

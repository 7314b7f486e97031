/// The refreshes that a request is a part of. The interceptors that perform them wait for the request, so they must not
/// hold it up.
final class RefreshScope: Sendable {
  /// Stands for an interceptor.
  final class Owner: Sendable {}

  /// Bound while an authenticator's `refresh` runs; Swift tasks that it starts inherit it.
  @TaskLocal static var current: RefreshScope?

  private let owner: Owner
  /// The scope of the request that made this refresh necessary, if that request was itself part of a refresh.
  private let outer: RefreshScope?

  init(of owner: Owner, within outer: RefreshScope?) {
    self.owner = owner
    self.outer = outer
  }

  func isPart(of owner: Owner) -> Bool {
    self.owner === owner || outer?.isPart(of: owner) == true
  }
}

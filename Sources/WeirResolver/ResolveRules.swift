/// The rules by which a name is looked up again and again. Times are in seconds.
package struct ResolveRules: Hashable, Sendable {
  /// The least time between two lookups, and the first wait after a failure.
  package let minimum: Double
  /// The longest time between two lookups.
  package let maximum: Double
  /// The limit of one lookup, all its tries together.
  package let timeout: Double
  package let servers: ResolverServers

  package init(
    minimum: Double = 1, maximum: Double = 30, timeout: Double = 2, servers: ResolverServers = .system
  ) {
    self.minimum = minimum
    self.maximum = maximum
    self.timeout = timeout
    self.servers = servers
  }
}

/// What the gateway does: a configuration that has been read and found right.
package struct Configuration: Sendable, Equatable {
  static let maximumRoutes = 1000

  /// In the order of the file. Names are unique, and no two match the same requests.
  package var routes: [Route]
  /// What is no mistake by any rule but may be one all the same, in the order of the file.
  package var warnings: [ConfigurationProblem] = []

  package init(routes: [Route]) {
    self.routes = routes
  }
}

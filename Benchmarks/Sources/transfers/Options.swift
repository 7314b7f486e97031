/// The options of the command line.
struct Options {
  enum API: String {
    /// Tasks that await responses.
    case async
    /// Completion handlers on the session's queue.
    case closure
    /// Completion handlers on the event loop.
    case inline
  }

  enum Executor: String {
    /// Swift's own pool of threads.
    case `default`
    /// The session's event loop.
    case session
  }

  /// The adapter of each request.
  enum Interception: String {
    case none
    /// Closures that answer at once: an adapter's, and the same as an async one.
    case closure, async
    /// A `HeaderAdapter`.
    case headers
    /// An `AuthenticationInterceptor` whose token is good.
    case authentication
  }

  struct UsageError: Error, CustomStringConvertible {
    let description = """
      usage: transfers URL TOTAL CONCURRENCY [--api async|closure|inline] [--metrics on|off]
                       [--executor default|session] [--idle N IDLE_URL]
                       [--interceptor none|closure|async|headers|authentication] [--ca FILE]
      """
  }

  var url: String
  var total: Int
  var concurrency: Int
  var api = API.async
  var metrics = true
  var executor = Executor.default
  var interceptor = Interception.none
  /// The certificate authority of https URLs; nil for the system's.
  var authority: String?
  var idle = 0
  var idleURL = ""

  init(_ arguments: [String]) throws {
    guard arguments.count >= 4, let total = Int(arguments[2]), let concurrency = Int(arguments[3]),
      total > 0, concurrency > 0
    else { throw UsageError() }
    url = arguments[1]
    self.total = total
    self.concurrency = concurrency
    var rest = arguments.dropFirst(4)
    while let name = rest.popFirst() {
      guard let value = rest.popFirst() else { throw UsageError() }
      try set(name, value, &rest)
    }
  }

  private mutating func set(_ name: String, _ value: String, _ rest: inout ArraySlice<String>) throws {
    switch (name, value) {
    case ("--metrics", "on"): metrics = true
    case ("--metrics", "off"): metrics = false
    case ("--api", _): api = try Self.parse(value)
    case ("--executor", _): executor = try Self.parse(value)
    case ("--interceptor", _): interceptor = try Self.parse(value)
    case ("--ca", _): authority = value
    case ("--idle", _):
      guard let count = Int(value), count >= 0, let url = rest.popFirst() else { throw UsageError() }
      idle = count
      idleURL = url
    default: throw UsageError()
    }
  }

  private static func parse<Value: RawRepresentable<String>>(_ text: String) throws -> Value {
    guard let value = Value(rawValue: text) else { throw UsageError() }
    return value
  }
}

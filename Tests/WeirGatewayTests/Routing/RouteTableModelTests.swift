import Testing
import WeirTestSupport

@testable import WeirGateway

/// The table decides as a plain reading of the rules does: all routes sorted, the first that matches.
@Suite(.slow) struct RouteTableModelTests {
  @Test func decidesAsASortedListDoes() throws {
    var random = Xorshift(state: 20_260_101)
    var taken = 0
    for round in 0..<10_000 {
      let routes = (0...Int(random.next() % 12)).map { Model.route($0, &random) }
      let table = RouteTable(routes)
      let order = Model.order(of: routes)
      for _ in 0..<3 {
        let request = Model.Request(&random)
        let decision = table.decide(request.host, request.target, method: request.method, fields: request.fields)
        let expected = Model.first(of: routes, in: order, for: request)
        if case .respond(let route) = decision {
          taken += 1
          #expect(route == expected, "round \(round): \(request)\n\(routes.map(\.match))")
        } else {
          #expect(decision == .noRoute && expected == nil, "round \(round): \(request)\n\(routes.map(\.match))")
        }
        if decision == .noRoute, expected != nil { return }
      }
    }
    #expect(taken > 5_000)
  }
}

/// The rules of docs/routes.md, one after the other and without an index.
private enum Model {
  static let hosts = ["a", "b.a", "c.b.a", "*.a", "*.b.a", "*.c.b.a", "x"]
  static let segments = ["a", "b", "aa", ""]
  static let values = ["1", "12", "2", ""]

  static func route(_ index: Int, _ random: inout Xorshift) -> Route {
    var match = RouteMatch()
    match.hosts = Array(Set((0..<Int(random.next() % 3)).map { _ in pick(hosts, &random) }))
    let parts = (0..<Int(random.next() % 4)).map { _ in pick(segments.dropLast() + ["*"], &random) }
    let text = "/" + parts.joined(separator: "/")
    switch random.next() % 3 {
    case 0: match.path = .exact(text.replacing("*", with: "a"))
    case 1: match.path = .prefix(text.replacing("*", with: "b"))
    default: match.path = .pattern(random.next() % 2 == 0 || parts.isEmpty ? text : text + "/**")
    }
    if random.next() % 3 == 0 { match.methods = Set((0...1).map { _ in pick(["GET", "PUT"], &random) }) }
    if random.next() % 3 == 0 { match.headers = conditions(["x", "y"], &random) }
    if random.next() % 3 == 0 { match.query = conditions(["x", "y"], &random) }
    return Route(name: "\(index)", match: match, action: .respond(RouteResponse(status: 200)))
  }

  private static func conditions(_ names: [String], _ random: inout Xorshift) -> [[UInt8]: ValueCondition] {
    var conditions: [[UInt8]: ValueCondition] = [:]
    for name in names where random.next() % 2 == 0 {
      let value = Array(pick(values, &random).utf8)
      switch random.next() % 4 {
      case 0: conditions[Array(name.utf8)] = .prefix(value)
      case 1: conditions[Array(name.utf8)] = .present(random.next() % 2 == 0)
      default: conditions[Array(name.utf8)] = .equals(value)
      }
    }
    return conditions
  }

  struct Request: CustomStringConvertible {
    let host: String
    let path: String
    let method: String
    let fields: [(String, String)]
    let items: [(String, String)]

    init(_ random: inout Xorshift) {
      host = pick(["a", "b.a", "c.b.a", "d.c.b.a", "d.a", "x", "z", ""], &random)
      path = "/" + (0..<Int(random.next() % 4)).map { _ in pick(segments, &random) }.joined(separator: "/")
      method = pick(["GET", "PUT", "POST"], &random)
      fields = (0..<Int(random.next() % 3)).map { _ in (pick(["X", "y"], &random), pick(values, &random)) }
      items = (0..<Int(random.next() % 3)).map { _ in (pick(["x", "y"], &random), pick(values, &random)) }
    }

    var target: String {
      path + (items.isEmpty ? "" : "?" + items.map { "\($0.0)=\($0.1)" }.joined(separator: "&"))
    }

    var description: String { "\(method) \(host)\(target) \(fields)" }
  }

  private static func pick<Element>(_ list: [Element], _ random: inout Xorshift) -> Element {
    list[Int(random.next() % UInt64(list.count))]
  }

  /// The hosts that a request's host matches, in the order in which they are tried; nil stands for every host.
  private static func groups(of host: String) -> [String?] {
    var groups: [String?] = [host]
    var rest = host[...]
    while let dot = rest.firstIndex(of: ".") {
      rest = rest[rest.index(after: dot)...]
      groups.append("*." + rest)
    }
    return groups + [nil]
  }

  static func order(of routes: [Route]) -> [Int] {
    routes.indices.sorted { routes[$0].match.precedence(at: $0) < routes[$1].match.precedence(at: $1) }
  }

  static func first(of routes: [Route], in order: [Int], for request: Request) -> Int? {
    for group in groups(of: request.host) {
      let found = order.first { index in
        let match = routes[index].match
        return (group.map(match.hosts.contains) ?? match.hosts.isEmpty) && takes(match, request)
      }
      if let found { return found }
    }
    return nil
  }

  private static func takes(_ match: RouteMatch, _ request: Request) -> Bool {
    (match.methods.isEmpty || match.methods.contains(request.method)) && takes(match.path, request.path)
      && holds(match.headers, request.fields.map { ($0.0.lowercased(), $0.1) }) && holds(match.query, request.items)
  }

  private static func takes(_ path: PathMatch, _ text: String) -> Bool {
    let parts = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard path.isOpen ? parts.count >= path.segments.count : parts.count == path.segments.count else { return false }
    return zip(path.segments, parts).allSatisfy { segment, part in
      if case .text(let text) = segment { part == text } else { !part.isEmpty }
    }
  }

  private static func holds(_ conditions: [[UInt8]: ValueCondition], _ pairs: [(String, String)]) -> Bool {
    conditions.allSatisfy { name, condition in
      let values = pairs.filter { Array($0.0.utf8) == name }.map { Array($0.1.utf8) }
      return switch condition {
      case .equals(let value): values.contains(value)
      case .prefix(let start): values.contains { $0.starts(with: start) }
      case .present(let isPresent): values.isEmpty != isPresent
      }
    }
  }
}

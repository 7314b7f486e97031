import WeirGateway
import WeirServer

/// Decisions among 1,000 routes: by the host, by a prefix of the path, by a pattern, and by such a prefix and a field; a
/// quarter each.
struct Decisions {
  enum Kind: Int, CaseIterable {
    case host, prefix, pattern, field
  }

  private struct UnexpectedResult: Error {}

  private let table: RouteTable
  private let heads: [RequestHead]

  init() throws {
    table = RouteTable(try Configuration(parsing: Array(Self.text.utf8), file: "routes.yml").routes)
    heads = try table.routes.indices.map(Self.head)
    for (index, head) in heads.enumerated() {
      guard case .respond(index) = table.decide(head) else { throw UnexpectedResult() }
    }
  }

  /// Each request goes to another route than the one before.
  func pace(of kind: Kind) -> Int {
    let own = heads.indices.filter { $0 % 4 == kind.rawValue }.map { heads[$0] }
    var found = 0
    let pace = median(of: 100_000) { index in
      if case .respond(let route) = table.decide(own[index &* 97 % own.count]) { found &+= route }
    }
    precondition(found > 0)
    return pace
  }

  private static let text =
    "routes:\n"
    + (0..<1000).map { index in
      let match =
        switch kind(index) {
        case .host: "host: host-\(index).example"
        case .prefix: "pathPrefix: /service-\(index)"
        case .pattern: "pathPattern: \"/tenants/*/objects-\(index)/*\""
        case .field: "pathPrefix: /service-\(index - 2), headers: { X-Env: canary }"
        }
      return "  - { name: r\(index), match: { \(match) }, respond: { status: 204 } }\n"
    }.joined()

  private static func kind(_ index: Int) -> Kind { Kind.allCases[index % 4] }

  private static func head(_ index: Int) throws -> RequestHead {
    let (host, path) =
      switch kind(index) {
      case .host: ("host-\(index).example", "/a/b")
      case .prefix: ("example.com", "/service-\(index)/a/b")
      case .pattern: ("example.com", "/tenants/7/objects-\(index)/a")
      case .field: ("example.com", "/service-\(index - 2)/a/b")
      }
    let canary = kind(index) == .field ? "X-Env: canary\r\n" : ""
    let text = "GET \(path)?page=2 HTTP/1.1\r\nHost: \(host)\r\nAccept: */*\r\n\(canary)\r\n"
    var parser = RequestParser(limits: RequestParser.Limits(ServerLimits()))
    var position = 0
    guard case .head(let head) = parser.next(Array(text.utf8).span, at: &position) else { throw UnexpectedResult() }
    return head
  }
}

import WeirHTTP
import WeirServer

/// The answer of a route that forwards nothing: a redirect or a fixed response.
final class RouteAnswer: Sendable {
  let status: Int
  let body: [UInt8]
  private let contentType: String?
  let rules: ResponseRules

  init(_ redirect: RouteRedirect, of route: Route) {
    status = redirect.status
    body = []
    contentType = nil
    rules = ResponseRules(route)
  }

  init(_ response: RouteResponse, of route: Route) {
    status = response.status
    body = Array(response.body.utf8)
    contentType = response.body.isEmpty ? nil : response.contentType
    rules = ResponseRules(route)
  }

  /// - Parameter location: The location of a redirect.
  func fields(location: String?, _ facts: FieldTemplate.Facts) -> WeirServer.ResponseFields {
    var fields = WeirServer.ResponseFields()
    add("Location", location, to: &fields)
    add("Content-Type", contentType, to: &fields)
    rules.add(to: &fields, facts)
    return fields
  }

  private func add(_ name: String, _ value: String?, to fields: inout WeirServer.ResponseFields) {
    guard let value, !name.withOctets(rules.drops) else { return }
    fields.add(name, value)
  }
}

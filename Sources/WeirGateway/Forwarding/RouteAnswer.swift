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

/// A route's changes to the header fields of responses, prepared for them.
struct ResponseRules: Sendable {
  /// The names of fields that are left out, in lower case: those that are removed or replaced.
  private let dropped: [[UInt8]]
  private let added: [FieldTemplate]

  init(_ route: Route) {
    let rules = route.responseHeaders
    dropped = (rules.set.map(\.name) + rules.remove).map { Array(FieldSyntax.lowercased($0).utf8) }
    added = (rules.set + rules.add).map { FieldTemplate($0, route: route.name) }
  }

  /// Whether fields are to be added.
  var adds: Bool { !added.isEmpty }

  func drops(_ name: UnsafeRawBufferPointer) -> Bool {
    !dropped.isEmpty && dropped.contains { name.isNameForCGI($0) }
  }

  func add(to fields: inout WeirServer.ResponseFields, _ facts: FieldTemplate.Facts) {
    for template in added {
      (template.fixedValue ?? template.value(facts)).withUnsafeBytes { value in
        template.name.withUnsafeBytes { _ = fields.add(name: $0, value: value) }
      }
    }
  }
}

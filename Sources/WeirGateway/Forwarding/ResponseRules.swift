import WeirHTTP
import WeirServer

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

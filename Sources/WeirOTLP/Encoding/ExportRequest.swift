import WeirMetrics

/// A message that brings a collector spans or metrics: those of one scope of one resource.
///
/// The requests of both signals have the same shape and the same numbers (opentelemetry-proto, `*_service.proto`).
protocol ExportRequest: Sendable {
  /// The names of the lists: what a resource has, what a scope has of it, and the spans or metrics themselves.
  static var lists: (resource: StaticString, scope: StaticString, items: StaticString) { get }
  var resource: Resource { get }
  var scope: Scope { get }
  /// Writes the spans or metrics as elements of the field 2.
  func writeItems(to list: inout some MessageWriter & ~Copyable)
}

extension ExportRequest {
  func encode(as encoding: MessageEncoding) -> [UInt8] {
    switch encoding {
    case .protobuf:
      var page = ExpositionPage()
      page.withProtobuf { write(to: &$0) }
      return page.withBytes { Array($0) }
    case .json: return JSONMessage { write(to: &$0) }.bytes
    }
  }

  private func write(to writer: inout some MessageWriter & ~Copyable) {
    writer.list(Self.lists.resource) { list in
      list.element(1) { writer in
        writer.message(1, "resource") { $0.attributes(1, resource.attributes) }
        writer.list(Self.lists.scope) { list in
          list.element(2) { writer in
            writer.message(1, "scope") { scope.write(to: &$0) }
            writer.list(Self.lists.items) { writeItems(to: &$0) }
          }
        }
      }
    }
  }
}

extension Scope {
  fileprivate func write(to writer: inout some MessageWriter & ~Copyable) {
    writer.string(1, "name", name)
    if !version.isEmpty { writer.string(2, "version", version) }
  }
}

extension MessageWriter where Self: ~Copyable {
  /// A field that has attributes (`common.proto`, `KeyValue`).
  mutating func attributes(_ number: Int, _ attributes: [Attribute]) {
    if attributes.isEmpty { return }
    list("attributes") { list in
      for attribute in attributes { list.attribute(number, attribute) }
    }
  }

  /// Most of a span are attributes, so that their messages are written without closures.
  @inline(__always)
  private mutating func attribute(_ number: Int, _ attribute: Attribute) {
    let beginning = openElement(number)
    string(1, "key", attribute.key)
    let value = open(2, "value")
    // The field says the type of `AnyValue`: it is there with a default too.
    switch attribute.value {
    case .string(let text): string(1, "stringValue", text)
    case .boolean(let value): boolean(2, "boolValue", value)
    case .integer(let value): int64(3, "intValue", value)
    case .double(let value): double(4, "doubleValue", value)
    }
    close(value)
    close(beginning)
  }
}

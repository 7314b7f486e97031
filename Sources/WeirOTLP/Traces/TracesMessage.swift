/// The message that brings a collector spans: `ExportTraceServiceRequest`.
package struct TracesMessage: ExportRequest {
  static let lists: (resource: StaticString, scope: StaticString, items: StaticString) =
    ("resourceSpans", "scopeSpans", "spans")

  /// In the lists in which they came.
  package let spans: [[Span]]
  package let resource: Resource
  package let scope: Scope

  package init(_ spans: [[Span]], of resource: Resource, by scope: Scope) {
    (self.spans, self.resource, self.scope) = (spans, resource, scope)
  }

  package func encoded(as encoding: MessageEncoding) -> [UInt8] { encode(as: encoding) }

  func writeItems(to list: inout some MessageWriter & ~Copyable) {
    for spans in spans { for span in spans { list.element(2) { span.write(to: &$0) } } }
  }
}

extension Span {
  /// The fields of `trace.proto`.
  fileprivate func write(to writer: inout some MessageWriter & ~Copyable) {
    writer.identifier(1, "traceId", place.high, place.low)
    writer.identifier(2, "spanId", place.id)
    if let traceState, !traceState.isEmpty { writer.string(3, "traceState", traceState) }
    if parent != 0 { writer.identifier(4, "parentSpanId", parent) }
    writer.string(5, "name", name)
    writer.choice(6, "kind", kind.rawValue)
    writer.fixed64(7, "startTimeUnixNano", start)
    writer.fixed64(8, "endTimeUnixNano", end)
    writer.attributes(9, attributes)
    writeEvents(to: &writer)
    writeLinks(to: &writer)
    if isError {
      writer.message(15, "status") { status in
        if !statusText.isEmpty { status.string(2, "message", statusText) }
        status.choice(3, "code", 2)
      }
    }
    writer.fixed32(16, "flags", Self.flags(flags, isRemote: hasRemoteParent))
  }

  private func writeEvents(to writer: inout some MessageWriter & ~Copyable) {
    if events.isEmpty { return }
    writer.list("events") { list in
      for event in events {
        list.element(11) { writer in
          writer.fixed64(1, "timeUnixNano", event.time)
          writer.string(2, "name", event.name)
          writer.attributes(3, event.attributes)
        }
      }
    }
  }

  private func writeLinks(to writer: inout some MessageWriter & ~Copyable) {
    if links.isEmpty { return }
    writer.list("links") { list in
      for link in links {
        list.element(13) { writer in
          writer.identifier(1, "traceId", link.high, link.low)
          writer.identifier(2, "spanId", link.id)
          // Links lead to spans of this process.
          writer.fixed32(6, "flags", Self.flags(flags, isRemote: false))
        }
      }
    }
  }

  /// The trace's flags in the low eight bits; above them, that it is known whether the parent or the linked span is of
  /// another process, and whether it is (`SpanFlags`).
  private static func flags(_ trace: UInt8, isRemote: Bool) -> UInt32 {
    UInt32(trace) | 0x100 | (isRemote ? 0x200 : 0)
  }
}

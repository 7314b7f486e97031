/// A finished span of a trace, as OpenTelemetry's protocol sends it (opentelemetry-proto, `trace.proto`). Times are
/// nanoseconds since 1970.
package struct Span: Sendable, Hashable {
  /// The numbers are those of `Span.SpanKind`.
  package enum Kind: UInt8, Sendable {
    case `internal` = 1
    case server = 2
    case client = 3
  }

  /// A position in a trace.
  package struct Place: Sendable, Hashable {
    /// The two halves of the trace's identifier.
    package let high: UInt64
    package let low: UInt64
    /// The span's identifier; never 0.
    package let id: UInt64

    package init(high: UInt64, low: UInt64, id: UInt64) {
      (self.high, self.low, self.id) = (high, low, id)
    }
  }

  package struct Event: Sendable, Hashable {
    package let name: String
    package let time: UInt64
    package let attributes: [Attribute]

    package init(_ name: String, at time: UInt64, _ attributes: [Attribute] = []) {
      (self.name, self.time, self.attributes) = (name, time, attributes)
    }
  }

  package let place: Place
  /// The identifier of the parent; 0 for a root.
  package var parent: UInt64 = 0
  /// The list of `tracestate`; nil without one.
  package var traceState: String?
  /// The trace's flags, as `traceparent` has them.
  package var flags: UInt8 = 1
  /// Whether the parent is of another process.
  package var hasRemoteParent = false
  package var name: String
  package let kind: Kind
  package let start: UInt64
  package var end: UInt64
  package var attributes: [Attribute] = []
  package var events: [Event] = []
  /// Spans that have a part in this one without being its parent.
  package var links: [Place] = []
  /// Whether it failed (`STATUS_CODE_ERROR`); else its status is unset.
  package var isError = false
  /// The text about the failure for people; empty without one.
  package var statusText = ""

  package init(_ name: String, _ kind: Kind, at place: Place, from start: UInt64, to end: UInt64) {
    (self.name, self.kind, self.place, self.start, self.end) = (name, kind, place, start, end)
  }
}

/// A fact about a span, an event or a resource.
package struct Attribute: Sendable, Hashable {
  package enum Value: Sendable, Hashable {
    case string(String)
    case integer(Int)
    case double(Double)
    case boolean(Bool)
  }

  package let key: String
  package let value: Value

  package init(_ key: String, _ value: Value) { (self.key, self.value) = (key, value) }

  package init(_ key: String, _ value: String) { self.init(key, .string(value)) }

  package init(_ key: String, _ value: Int) { self.init(key, .integer(value)) }
}

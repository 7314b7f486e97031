@_exported public import Instrumentation

public protocol TracerInstant: Comparable, Hashable, Sendable {
  var nanosecondsSinceEpoch: UInt64 { get }
}

public struct DefaultTracerClock {
  public struct Timestamp: TracerInstant {
    public let nanosecondsSinceEpoch: UInt64
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
      left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch
    }
  }

  public static var now: Timestamp { Timestamp(nanosecondsSinceEpoch: 0) }
}

public enum SpanKind: Sendable { case server, client, producer, consumer, `internal` }

public protocol Tracer: Instrument {
  associatedtype Span: Tracing.Span
  func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> Span
  func forceFlush()
}

extension Tracer {
  public func startSpan(
    _ operationName: String, context: @autoclosure () -> ServiceContext = .current ?? .topLevel,
    ofKind kind: SpanKind = .internal, function: String = #function, file fileID: String = #fileID, line: UInt = #line
  ) -> Span {
    startSpan(
      operationName, context: context(), ofKind: kind, at: DefaultTracerClock.now, function: function, file: fileID,
      line: line)
  }
}

public protocol Span: Sendable {
  var context: ServiceContext { get }
  var operationName: String { get nonmutating set }
  func setStatus(_ status: SpanStatus)
  func addEvent(_ event: SpanEvent)
  func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant)
  var attributes: SpanAttributes { get nonmutating set }
  var isRecording: Bool { get }
  func addLink(_ link: SpanLink)
  func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant)
}

extension Span {
  public func end() { end(at: DefaultTracerClock.now) }

  public func updateAttributes(_ update: (inout SpanAttributes) -> Void) {
    var copy = attributes
    update(&copy)
    attributes = copy
  }
}

public struct SpanStatus: Equatable, Sendable {
  public enum Code: Sendable { case ok, error }
  public let code: Code
  public let message: String?
  public init(code: Code, message: String? = nil) { (self.code, self.message) = (code, message) }
}

public struct SpanEvent: Equatable, Sendable {}

public struct SpanLink: Sendable {}

public enum SpanAttribute: Equatable, Sendable {
  case int64(Int64)
  case double(Double)
  case bool(Bool)
  case string(String)
}

public protocol SpanAttributeConvertible { func toSpanAttribute() -> SpanAttribute }

extension SpanAttribute: SpanAttributeConvertible { public func toSpanAttribute() -> SpanAttribute { self } }
extension Int: SpanAttributeConvertible { public func toSpanAttribute() -> SpanAttribute { .int64(Int64(self)) } }
extension Double: SpanAttributeConvertible { public func toSpanAttribute() -> SpanAttribute { .double(self) } }
extension Bool: SpanAttributeConvertible { public func toSpanAttribute() -> SpanAttribute { .bool(self) } }
extension String: SpanAttributeConvertible { public func toSpanAttribute() -> SpanAttribute { .string(self) } }

public struct SpanAttributes: Equatable, Sendable, ExpressibleByDictionaryLiteral {
  private var values: [String: SpanAttribute] = [:]

  public init(dictionaryLiteral elements: (String, SpanAttribute)...) {
    for (name, value) in elements { values[name] = value }
  }

  public subscript(_ name: String) -> (any SpanAttributeConvertible)? {
    get { values[name] }
    set { values[name] = newValue?.toSpanAttribute() }
  }

  public func get(_ name: String) -> SpanAttribute? { values[name] }
}

extension InstrumentationSystem {
  public static var tracer: any Tracer { (instrument as? any Tracer) ?? NoTracer() }
}

private struct NoTracer: Tracer {
  func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> NoSpan { NoSpan(context: context()) }
  func forceFlush() {}
  func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {}
  func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {}
}

private struct NoSpan: Span {
  let context: ServiceContext
  var operationName: String {
    get { "" }
    nonmutating set {}
  }
  var attributes: SpanAttributes {
    get { [:] }
    nonmutating set {}
  }
  var isRecording: Bool { false }
  func setStatus(_ status: SpanStatus) {}
  func addEvent(_ event: SpanEvent) {}
  func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) {}
  func addLink(_ link: SpanLink) {}
  func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {}
}

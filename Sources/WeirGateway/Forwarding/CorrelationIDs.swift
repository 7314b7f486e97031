import WeirExporter
import WeirHTTP
import WeirServer
import WeirTransport

/// The identifiers by which a request is found again: its trace, and its own. An object, so that a request without them
/// has only a reference.
final class CorrelationIDs {
  /// The trace, with the client's operation as the parent, or the request's own span if it began here; nil without one.
  let trace: TraceContext?
  /// Whether the trace began here.
  let isRoot: Bool
  /// Whether spans of the request go to a collector, whatever becomes of it.
  let isRecorded: Bool
  /// Empty if there is none.
  let requestID: [UInt8]

  /// Reads what the client sent, and draws what is missing.
  init(_ fields: HeaderFields, _ settings: CorrelationSettings, _ ids: inout TraceIDs) {
    var read: TraceContext?
    var parents = 0
    var state = TraceState()
    var own: [UInt8] = []
    var ownCount = 0
    fields.forEach { name, value in
      if settings.trace != nil, name.count == 11, name.spells("traceparent") {
        parents += 1
        read = parents == 1 ? TraceContext(value) : nil
      } else if settings.trace != nil, name.count == 10, name.spells("tracestate") {
        state.add(value)
      } else if settings.trustsRequestID, settings.namesRequestID(name) {
        ownCount += 1
        own = Self.isRequestID(value) ? Array(value) : []
      }
    }
    isRoot = read == nil
    if let read {
      trace = read.with(state.text)
    } else {
      trace = settings.begins ? ids.begin(by: settings.sampler) : nil
    }
    let isChosen = read.map(settings.sampler.records(continuing:)) ?? trace?.isSampled ?? false
    isRecorded = settings.spans != nil && isChosen
    requestID = !settings.hasRequestID ? [] : ownCount == 1 && !own.isEmpty ? own : ids.request()
  }

  /// Whether the fields of the client pass as they are: what is not recorded has no place of its own in the trace.
  var passesTraceOn: Bool { trace == nil || !isRoot && !isRecorded }

  /// 1 to 128 visible octets.
  private static func isRequestID(_ value: UnsafeRawBufferPointer) -> Bool {
    (1...RequestIDSettings.longest).contains(value.count) && value.allSatisfy { $0 > 0x20 && $0 < 0x7f }
  }

  /// The trace, if somebody records it.
  var shownTrace: TraceContext? { trace.flatMap { $0.isSampled || isRecorded ? $0 : nil } }
}

/// What a configuration says of requests' identifiers, prepared. An object, as every request refers to it.
final class CorrelationSettings: Sendable {
  let trace: TraceSettings?
  /// Whether a request without a valid trace begins one.
  let begins: Bool
  let sampler: TraceSampler
  /// Nil if no spans are recorded.
  let spans: SpanSettings?
  let trustsRequestID: Bool
  /// The field of the request's identifier as it is written; empty without one.
  let header: [UInt8]
  let lowercased: [UInt8]

  /// Nil if requests have no identifiers.
  init?(_ configuration: Configuration, spans sink: (any SpanSink)? = nil) {
    if configuration.trace == nil, configuration.requestID == nil { return nil }
    trace = configuration.trace
    begins = configuration.trace?.begins ?? false
    sampler = configuration.trace?.sampler ?? TraceSampler(share: configuration.trace?.sample ?? 0)
    spans = sink.flatMap { sink in
      configuration.trace.map { SpanSettings(sink: sink, keepsFailures: $0.keepsFailures, slow: $0.keepsSlower) }
    }
    trustsRequestID = configuration.requestID?.trust ?? false
    header = Array((configuration.requestID?.header ?? "").utf8)
    lowercased = header.map(\.lowercased)
  }

  var hasRequestID: Bool { !header.isEmpty }

  /// Whether a field is that of the identifier.
  func namesRequestID(_ name: UnsafeRawBufferPointer) -> Bool {
    hasRequestID && lowercased.withUnsafeBytes { $0.equalsIgnoringCase(name) }
  }

  /// Whether a field is that of the identifier, or is taken for it by programs that read fields as environment variables.
  func isRequestID(_ name: UnsafeRawBufferPointer) -> Bool { hasRequestID && name.isNameForCGI(lowercased) }
}

/// The choice of spans, and where they go. An object for the same reason.
final class SpanSettings: Sendable {
  let sink: any SpanSink
  /// Whether the spans of a request that failed, was repeated or was slow are kept even if its trace is not sampled.
  let keepsFailures: Bool
  /// Seconds from which on a request is slow; nil for none.
  let slow: Double?

  init(sink: any SpanSink, keepsFailures: Bool, slow: Double?) {
    (self.sink, self.keepsFailures, self.slow) = (sink, keepsFailures, slow)
  }
}

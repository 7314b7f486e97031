import Synchronization
import WeirExporter
import WeirOTLP
import WeirTransport

/// Keeps all spans.
final class SpanBin: SpanSink {
  private let spans = Mutex<[Span]>([])

  func add(_ spans: [Span]) { self.spans.withLock { $0 += spans } }

  var all: [Span] { spans.withLock { $0 } }

  /// The span of the only request.
  var request: Span? { all.first { $0.kind == .server } }

  /// The spans of attempts, in the order in which they began.
  var attempts: [Span] { all.filter { $0.kind == .client }.sorted { $0.start < $1.start } }
}

extension Span {
  subscript(key: String) -> Attribute.Value? { attributes.first { $0.key == key }?.value }

  func text(_ key: String) -> String? { if case .string(let text)? = self[key] { text } else { nil } }
}

extension TraceContext {
  static func digits(_ id: UInt64) -> String {
    TraceContext(traceparent: "00-\(String(repeating: "1", count: 32))-1111111111111111-01").map {
      $0.child(parent: id).parentID
    } ?? ""
  }
}

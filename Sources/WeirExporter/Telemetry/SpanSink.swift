package import WeirOTLP

/// Takes finished spans, and never blocks.
package protocol SpanSink: Sendable {
  func add(_ spans: [Span])
}

package import WeirOTLP

/// Takes finished spans, on any thread. It never waits.
package protocol SpanSink: Sendable {
  func add(_ spans: [Span])
}

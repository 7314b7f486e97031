/// Decides which traces are recorded: a share of those that begin here, and those that callers record. It is
/// OpenTelemetry's `parentbased_traceidratio`, and with other values each of the samplers that its specification names.
public struct TraceSampler: Sendable, Hashable {
  /// The share of traces that are recorded, 0 to 1. It is taken by the traces' identifiers (W3C Trace Context Level 2,
  /// section 5.1.2), so that services with the same share record the same traces.
  public var share: Double
  /// Whether a trace that a caller has begun is recorded exactly if the caller's context is sampled. Otherwise the share
  /// applies to it too.
  public var followsParent: Bool

  /// Records all traces that begin here, and of others those that are sampled.
  public init(share: Double = 1, followsParent: Bool = true) {
    (self.share, self.followsParent) = (share, followsParent)
  }

  /// Whether a request with this context is recorded.
  package func records(continuing context: TraceContext) -> Bool {
    followsParent ? context.isSampled : chooses(context)
  }

  /// Whether the trace belongs to the share.
  func chooses(_ context: TraceContext) -> Bool {
    // 53 of the 56 random bits, as a Double has no more.
    share > 0 && Double(context.low >> 3 & 0x1F_FFFF_FFFF_FFFF) >= (1 - share) * 0x1p53
  }
}

/// Why a metric could not be registered. A failed registration changes nothing.
@nonexhaustive
public enum RegistryError: Error, Equatable, Sendable {
  /// The name is not `[a-zA-Z_:][a-zA-Z0-9_:]*`, or an info metric's name does not end in `_info`.
  case invalidName(metric: String)
  /// The label's name is not `[a-zA-Z_][a-zA-Z0-9_]*`.
  case invalidLabel(metric: String, label: String)
  /// The label's name is `le` or begins with `__`.
  case reservedLabel(metric: String, label: String)
  /// A label's name is there twice.
  case duplicateLabel(metric: String, label: String)
  /// The list of bounds is not finite and increasing.
  case invalidBuckets(metric: String, problem: Buckets.Problem)
  /// The name is registered as another type.
  case kindConflict(metric: String, registered: MetricKind, requested: MetricKind)
  /// The name is registered with other labels, or with the same labels in another order.
  case labelConflict(metric: String, registered: [String], requested: [String])
  /// The name is registered with typed labels, or with none, and is used with labels as text, or the reverse.
  case textLabelConflict(metric: String)
  /// The name is registered with another help text.
  case helpConflict(metric: String)
  /// The name is registered with other buckets.
  case bucketConflict(metric: String)
  /// The metric would show a name (`x_count` of a histogram `x`) that belongs to another metric. The names of both
  /// metrics are those before they were normalized (``MetricName``).
  case nameClash(metric: String, name: String, owner: String)
  /// The name of a collector's metric, a callback or an info metric is taken.
  case alreadyRegistered(metric: String)

  /// A word for this kind of error without any text from callers, fit for a label.
  public var reason: String {
    switch self {
    case .invalidName: "invalid_name"
    case .invalidLabel: "invalid_label"
    case .reservedLabel: "reserved_label"
    case .duplicateLabel: "duplicate_label"
    case .invalidBuckets: "invalid_buckets"
    case .kindConflict: "kind_conflict"
    case .labelConflict, .textLabelConflict: "label_conflict"
    case .helpConflict: "help_conflict"
    case .bucketConflict: "bucket_conflict"
    case .nameClash: "name_clash"
    case .alreadyRegistered: "already_registered"
    }
  }

  static let reasons = [
    "already_registered", "bucket_conflict", "duplicate_label", "help_conflict", "invalid_buckets", "invalid_label",
    "invalid_name", "kind_conflict", "label_conflict", "name_clash", "reserved_label",
  ]
}

extension RegistryError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .invalidName(let metric):
      "metric name \(metric.debugDescription) must match [a-zA-Z_:][a-zA-Z0-9_:]* (an info metric's must end in _info)"
    case .invalidLabel(let metric, let label):
      "label \(label.debugDescription) of \(metric) must match [a-zA-Z_][a-zA-Z0-9_]*"
    case .reservedLabel(let metric, let label):
      "label \(label.debugDescription) of \(metric) is reserved; choose another name"
    case .duplicateLabel(let metric, let label):
      "label \(label.debugDescription) of \(metric) is named twice"
    case .invalidBuckets(let metric, let problem):
      "buckets of \(metric) must be finite and increasing, 1 to \(Buckets.limit) of them: \(problem.rawValue)"
    case .kindConflict(let metric, let registered, let requested):
      "\(metric) is registered as a \(registered.rawValue), not as a \(requested.rawValue)"
    case .labelConflict(let metric, let registered, let requested):
      "\(metric) is registered with labels \(registered), not \(requested)"
    case .textLabelConflict(let metric):
      "\(metric) can't have labels as text and typed labels, or none, at the same time"
    case .helpConflict(let metric):
      "\(metric) is registered with another help text"
    case .bucketConflict(let metric):
      "\(metric) is registered with other buckets"
    case .nameClash(let metric, let name, let owner):
      "\(metric) would show \(name), which belongs to \(owner)"
    case .alreadyRegistered(let metric):
      "\(metric) is registered already; what registers it can be made once for each registry, and shared"
    }
  }
}

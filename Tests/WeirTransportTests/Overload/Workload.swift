import Testing

/// What arrives at a gateway, and how its upstream behaves.
struct Workload: Sendable, CustomTestStringConvertible {
  enum TimeoutModel: Sendable {
    case seconds(Double)
    case oneOf([Double])
  }

  /// A path of the upstream with callers of its own. The other requests go to the upstream's model.
  struct Path: Sendable {
    /// The share of the requests.
    let share: Double
    var during = 0..<Double.infinity
    /// Seconds of an answer, which takes no work; nil: the model's.
    var seconds: Double?
    let callerTimeout: Double
    /// Whether weir's own limit of time ends its requests, and not their callers.
    var isTimeout = false
  }

  let name: String
  /// The upstream's models, each from a time on.
  let upstream: [(from: Double, model: UpstreamModel)]
  /// Requests per second, from a time on.
  let load: [(from: Double, perSecond: Double)]
  let seconds: Double
  /// The part of the run, in seconds, that the figures are taken from.
  var window: Range<Double>
  /// The good answers per second that the upstream could give.
  let best: Double
  var callerTimeout = TimeoutModel.seconds(2)
  var paths: [Path] = []
  /// The end of the fault, from which on the recovery is counted.
  var faultEnd: Double?
  /// Shares of the requests by priority; all have 3 where it is empty.
  var priorities: [(priority: Int, share: Double)] = []
  /// Gateways before the upstream, each with a control of its own and its part of the requests.
  var gateways = 1
  /// Whether callers say how long they will wait.
  var announcesTimeout = false
  /// How often a caller asks again after a refusal or a failure, within its timeout.
  var retries = 0
  /// The share of requests with a body, whose upload takes two seconds.
  var uploads = 0.0
  /// Seconds after which a second attempt is sent beside the first, where the control allows it.
  var hedgeAfter: Double?

  var testDescription: String { name }
}

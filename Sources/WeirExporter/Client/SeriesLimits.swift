import Weir
import WeirCurl

/// How many label sets each of the client's families may have: so many per destination.
///
/// What is bounded by the code gets all its values. Statuses, kinds of error and adapters, which are not, get room for
/// more than a destination shows in practice; one that shows more takes of what others leave.
struct SeriesLimits: Sendable {
  let destinations: Int

  var one: Int { each(1) }
  var methods: Int { each(MethodLabel.count) }
  var outcomes: Int { each(RequestOutcome.allCases.count) }
  var outcomesOfMethods: Int { each(MethodLabel.count * RequestOutcome.allCases.count) }
  /// 1.0, 1.1, 2, 3, unknown.
  var versions: Int { each(5) }
  var phases: Int { each(Phase.allCases.count) }
  /// identity, gzip, deflate, br, zstd, _other.
  var encodings: Int { each(6) }
  var connectionStates: Int { each(2) }
  var denials: Int { each(RetryDenial.Reason.allCases.count) }
  var delaySources: Int { each(RetryDelaySource.allCases.count) }
  /// Method, status, error and version together.
  var attempts: Int { each(100) }
  /// Statuses and errors.
  var retryReasons: Int { each(50) }
  /// Statuses.
  var redirects: Int { each(10) }
  /// Of sixteen adapters.
  var adaptationFailures: Int { each(16 * AdaptationFailure.allCases.count) }

  private func each(_ count: Int) -> Int {
    let (product, overflows) = max(1, destinations).multipliedReportingOverflow(by: count)
    return overflows ? .max : product
  }
}

import WeirIO

/// The numbers of a set at one time, for metrics.
package struct EndpointReport: Sendable {
  package enum State: String, Sendable, CaseIterable {
    case available
    case slowStart = "slow_start"
    case ejected
    case unhealthy
  }

  package struct Line: Sendable, Equatable {
    /// `host:port` or `unix:/path`.
    package let name: String
    package let state: State
    /// Attempts in flight.
    package let active: Int
    /// Open connections, if the set counts them and the transports observe theirs.
    package let connections: Int
    /// The mean time to the first byte, in seconds; nil while no endpoint has answered.
    package let latency: Double?
    /// Attempts since the endpoint is known.
    package let successes: Int
    package let failures: Int
    /// Ejections since the endpoint is known, for each reason.
    package let ejections: [EjectionReason: Int]
  }

  /// Sorted by name.
  package let endpoints: [Line]

  /// The number of endpoints in a state.
  package func count(_ state: State) -> Int { endpoints.count { $0.state == state } }
}

extension EndpointRoster {
  func report(at now: MonotonicTime) -> EndpointReport {
    EndpointReport(
      endpoints: members.map { member in
        let endpoint = member.endpoint
        return EndpointReport.Line(
          name: endpoint.name, state: state(of: member, at: now), active: endpoint.active,
          connections: endpoint.connections?.count ?? 0, latency: endpoint.latency(at: now),
          successes: endpoint.successes,
          failures: endpoint.failures,
          ejections: [
            .consecutive: endpoint.ejections(.consecutive),
            .ratio: endpoint.ejections(.ratio),
            .retryAfter: endpoint.ejections(.retryAfter),
          ])
      })
  }

  private func state(of member: Member, at now: MonotonicTime) -> EndpointReport.State {
    switch member.availability {
    case .available: .available
    case .slowStart(let since): now.seconds(since: since) < settings.boundedSlowStart ? .slowStart : .available
    case .ejected: .ejected
    case .unhealthy: .unhealthy
    }
  }
}

/// How an attempt at an endpoint went. Times are seconds since it began.
package enum EndpointEnding: Sendable, Hashable {
  /// A good answer.
  case answered(firstByteAfter: Double)
  /// A failure as the circuit counts them: an error, a timeout, a status from 500 on.
  case failed(after: Double)
  /// No connection could be opened, so that nothing was sent.
  case connectFailed(after: Double)
  /// The caller left before the head. A failure if that was after more than 1 s and 4 × the others' latency.
  case givenUp(after: Double)
  /// The end says nothing about the endpoint.
  case withdrawn
}

/// A change of an endpoint, for logs and metrics.
public struct EndpointEvent: Sendable, Hashable, CustomStringConvertible {
  /// The kinds of changes.
  @nonexhaustive
  public enum Kind: Sendable, Hashable {
    /// No request goes there for so many seconds.
    case ejected(EjectionReason, seconds: Double)
    /// The ejection is over.
    case returned
    /// The gateway's active checks fail.
    case unhealthy
    /// The gateway's active checks succeed again.
    case healthy
  }

  /// The endpoint's name, `host:port` or `unix:/path`.
  public let endpoint: String
  /// The change.
  public let kind: Kind

  package init(endpoint: String, kind: Kind) {
    self.endpoint = endpoint
    self.kind = kind
  }

  public var description: String {
    switch kind {
    case .ejected(let reason, let seconds):
      "\(endpoint) is left out for \((seconds * 10).rounded() / 10) s (\(reason.rawValue))"
    case .returned: "\(endpoint) is back"
    case .unhealthy: "\(endpoint) fails its checks"
    case .healthy: "\(endpoint) passes its checks again"
    }
  }
}

/// Why an endpoint is left out.
public enum EjectionReason: String, Sendable, CaseIterable {
  /// As many failures in a row as are allowed.
  case consecutive
  /// Too large a share of the attempts in the window failed.
  case ratio
  /// It has answered 503 with `Retry-After`, which is obeyed (``PaceSettings/obey``).
  case retryAfter = "retry_after"
}

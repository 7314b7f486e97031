import WeirIO
import WeirTransport

/// The endpoints that stand for an origin: instances of one service, known to the caller.
///
/// Requests to `origin` go to one of them, chosen for each attempt. The Host field, the name in TLS, the metrics' labels,
/// the retry budget, the circuit and load control stay the origin's. An endpoint that fails again and again is left out
/// for a while (``outlier``), a retry and a hedge go to an endpoint that the request has not tried, and a request whose
/// connection could not be opened is sent to another endpoint at once, whatever its method, within the retry budget.
///
/// ```swift
/// let payments = try EndpointGroup(origin: "https://payments.internal", endpoints: ["10.0.0.7:8443", "10.0.0.8:8443"])
/// var configuration = SessionConfiguration()
/// configuration.endpoints = [payments]
/// let session = Session(configuration: configuration)
/// // Whenever the instances change:
/// try payments.update(["10.0.0.8:8443", "10.0.0.9:8443"])
/// ```
///
/// Sessions may share a group: they then share what is known of its endpoints. All members may be used from any thread.
public final class EndpointGroup: Sendable {
  /// How an endpoint is chosen for an attempt.
  public enum Balance: Sendable, Hashable {
    /// The first of two drawn by weight, unless it has more than its share of the attempts that both have under way.
    case leastRequests
    /// In turn by weight, evenly spread.
    case roundRobin
    /// By a field of the request: equal values go to the same endpoint, and few values go elsewhere when the endpoints
    /// change. An endpoint with more than `factor` times its part of the attempts under way passes on; 1.05 to 10, nil for
    /// never. A request without the field goes by ``leastRequests``.
    case consistentHash(header: String, factor: Double? = 1.25)
  }

  /// The scheme, host and port of the URLs whose requests go to the endpoints.
  public let origin: Destination
  /// How an endpoint is chosen for an attempt.
  public let balance: Balance
  /// When an endpoint that fails is left out; nil: it never is. A single endpoint is never left out.
  public let outlier: OutlierSettings?
  let set: EndpointSet
  private let settings: EndpointSettings

  /// - Parameters:
  ///   - origin: An `http` or `https` URL; its path is of no account.
  ///   - endpoints: As in ``update(_:)``. While there are none, requests are rejected with `.noEndpoint`.
  ///   - balance: How an endpoint is chosen.
  ///   - outlier: When an endpoint that fails is left out; nil: it never is.
  /// - Throws: ``EndpointProblem`` if the origin is no such URL, or a text is no endpoint.
  public init(
    origin: String, endpoints: [String] = [], balance: Balance = .leastRequests,
    outlier: OutlierSettings? = OutlierSettings()
  ) throws(EndpointProblem) {
    guard let destination = URL(string: origin).flatMap(Destination.init(url:)),
      ["http", "https"].contains(destination.scheme)
    else {
      throw EndpointProblem(description: "the origin must be a URL as https://payments.internal")
    }
    self.origin = destination
    self.balance = balance
    self.outlier = outlier
    // The destination's slots are the limit.
    settings = EndpointSettings(
      balance: EndpointSettings.Balance(balance), outlier: outlier,
      connections: EndpointSettings.connectionsRange.upperBound)
    set = EndpointSet(settings: settings, at: .now)
    try update(endpoints)
  }

  /// Replaces the endpoints: each `host:port`, `[IPv6]:port` or `unix:/path`. A name is looked up when a connection is
  /// opened, and is one endpoint, whatever its addresses.
  ///
  /// An endpoint that stays keeps what is known of it, and so does one that is back within 60 seconds. One that is gone
  /// gets no new attempt: what is under way there ends, and idle HTTP/1.1 connections to it close at once. New ones get
  /// a tenth of their part at first, and all of it after ten seconds.
  ///
  /// - Throws: ``EndpointProblem`` if a text is no endpoint; then nothing changes.
  public func update(_ endpoints: [String]) throws(EndpointProblem) {
    var specs: [EndpointSpec] = []
    for text in endpoints {
      do throws(EndpointProblem) {
        specs.append(try EndpointSpec(parsing: text))
      } catch {
        throw EndpointProblem(description: "\"\(text)\": \(error)")
      }
    }
    set.update(specs, settings: settings, at: .now)
  }

  /// The key of a request for a consistent hash; nil without one.
  func key(of request: HopRequest) -> UInt64? {
    guard case .consistentHash(let header, _) = balance else { return nil }
    return request.value(forHeader: header).map { EndpointKey.hash($0.utf8) }
  }
}

extension EndpointSettings.Balance {
  fileprivate init(_ balance: EndpointGroup.Balance) {
    self =
      switch balance {
      case .leastRequests: .leastRequests
      case .roundRobin: .roundRobin
      case .consistentHash(_, let factor): .consistentHash(factor: factor)
      }
  }
}

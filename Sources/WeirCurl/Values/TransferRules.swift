/// Settings of a transfer and of its connection in place of the transport's; nil means the transport's own.
///
/// It is a class, so that a spec without one stays small.
package final class TransferRules: Sendable, Hashable {
  /// Seconds for name lookup, TCP and TLS together.
  package let connectTimeout: Double?
  /// Seconds after which an idle connection is closed.
  package let idleTimeout: Double?
  /// Seconds since a connection was opened, after which it is not used again. A request on it is never cut.
  package let maximumAge: Double?
  package let httpVersion: HTTPVersionChoice?
  /// The connect timeout in libcurl's terms.
  let connectMilliseconds: Int?

  package init(
    connectTimeout: Double? = nil, idleTimeout: Double? = nil, maximumAge: Double? = nil,
    httpVersion: HTTPVersionChoice? = nil
  ) {
    self.connectTimeout = connectTimeout
    self.idleTimeout = idleTimeout
    self.maximumAge = maximumAge
    self.httpVersion = httpVersion
    connectMilliseconds = connectTimeout.map(PreparedOptions.milliseconds(ofConnectTimeout:))
  }

  package static func == (left: TransferRules, right: TransferRules) -> Bool {
    left === right
      || left.connectTimeout == right.connectTimeout && left.idleTimeout == right.idleTimeout
        && left.maximumAge == right.maximumAge && left.httpVersion == right.httpVersion
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(connectTimeout)
    hasher.combine(idleTimeout)
    hasher.combine(maximumAge)
    hasher.combine(httpVersion)
  }
}

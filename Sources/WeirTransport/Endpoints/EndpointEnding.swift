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

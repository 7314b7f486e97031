/// How an attempt left its destination without an answer.
package enum Departure: Sendable {
  /// The client of the gateway left, or the user cancelled the request.
  case callerGaveUp
  /// The destination refused or broke the connection.
  case failed
  /// It ran into a limit of time of this process.
  case timedOut
  /// It says nothing about the destination: a second attempt that lost, a session that ended.
  case withdrawn
}

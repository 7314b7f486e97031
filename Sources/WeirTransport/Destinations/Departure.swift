/// How an attempt left its destination without an answer.
package enum Departure: Sendable {
  /// The client of the gateway left, or the user cancelled the request.
  case callerGaveUp
  /// The destination refused or broke the connection.
  case failed
  /// It ran into a time limit of this process.
  case timedOut
  /// The end says nothing about the destination: a second attempt lost, or the session ended.
  case withdrawn
}

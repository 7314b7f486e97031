/// An error that metrics can name.
package protocol LabelledError: Error {
  /// A word from a closed list, without any text of the request or the network.
  var label: String { get }
}

/// Why an exchange failed, as far as the transport can tell.
package enum ExchangeFailure: LabelledError, Hashable {
  indirect case transfer(TransferFailure)
  /// The destination did not admit an attempt, of which nothing was sent.
  case rejected(Rejection)
  /// The present attempt has no credential, and was not sent.
  indirect case unauthenticated(CredentialRefusal)
  /// The caller cancelled it.
  case cancelled
  /// The exchange's session or worker ended first.
  case ended

  package var label: String {
    switch self {
    case .transfer(let failure): failure.proxyLabel ?? failure.code.label
    case .rejected(let rejection): rejection.label
    case .unauthenticated(let refusal): refusal.reason.rawValue
    case .cancelled: "explicitly_cancelled"
    case .ended: "session_invalidated"
    }
  }

  /// The failure in a sentence, without secrets.
  package var cause: String {
    switch self {
    case .transfer(let failure): Redaction.errorText("The transfer failed: \(failure.text)")
    case .rejected(let rejection): "The request was not admitted. \(rejection.text)"
    case .unauthenticated(let refusal): "There is no credential \(refusal.credential): \(refusal.text)"
    case .cancelled: "The request was cancelled."
    case .ended: "The session was invalidated."
    }
  }

  /// The transfer's failure, if it is one.
  package var transferFailure: TransferFailure? {
    if case .transfer(let failure) = self { failure } else { nil }
  }
}

/// Why a destination did not admit an attempt.
package enum Rejection: Hashable, Sendable {
  /// The circuit is open; seconds until it lets a request through, if known.
  case circuitOpen(retryAfter: Double?)
  /// The destination's queue is full.
  case queueFull
  /// The attempt waited for too long.
  case admissionTimeout
  /// Load control or the pace refused the attempt; seconds after which the request may be repeated.
  case overloaded(reason: ShedReason, retryAfter: Double)
  /// The destination has no endpoint.
  case noEndpoint

  package var label: String {
    switch self {
    case .circuitOpen: "circuit_open"
    case .queueFull: "queue_full"
    case .admissionTimeout: "admission_timeout"
    case .overloaded(.paused, _): "paused"
    case .overloaded(.pace, _): "pace"
    case .overloaded: "overloaded"
    case .noEndpoint: "no_endpoint"
    }
  }

  package var text: String {
    switch self {
    case .circuitOpen(let delay?):
      "The destination's circuit is open (circuitBreaker); it lets a request through in \(delay) s."
    case .circuitOpen(nil): "The destination's circuit is open (circuitBreaker)."
    case .queueFull: "Too many requests wait for the destination (maximumPendingRequestsPerHost)."
    case .admissionTimeout: "It waited longer for the destination than admissionTimeout."
    case .overloaded(.overload, _):
      "The destination gets more requests than it can answer in time (overload); the wait would have been too long."
    case .overloaded(.waited, _):
      "The destination gets more requests than it can answer in time (overload); the request has waited for too long."
    case .overloaded(.silent, _): "The destination has ceased to answer (overload.silence)."
    case .overloaded(.paused, let delay):
      "The destination has asked for a pause (pace.obey) that ends later than a request waits (pace.wait), in \(delay.rounded(.up)) s."
    case .overloaded(.pace, let delay):
      "The destination gets more requests than its pace allows (pace.rate); the next turn comes in \(delay.rounded(.up)) s."
    case .noEndpoint: "The destination has no endpoint to go to (endpoints)."
    }
  }
}

/// Why load control (``OverloadSettings``) or the pace (``PaceSettings``) refused an attempt, of which nothing was sent.
@nonexhaustive
public enum ShedReason: String, Sendable, Hashable, CaseIterable {
  /// So many requests wait already that this one would have waited longer than it may.
  case overload
  /// The request has waited as long as it may.
  case waited
  /// The destination has ceased to answer.
  case silent
  /// The destination has asked for a pause, which would take longer than the request may wait.
  case paused
  /// So many requests wait for their turn that this one would have waited longer than it may.
  case pace
}

/// How an attempt ended without a final head.
package enum AttemptEnding: Sendable {
  /// The client of the gateway left, or the user cancelled the request.
  case callerGaveUp
  /// The destination refused or broke the connection.
  case failed
  /// It ran into a time limit of this process.
  case timedOut
  /// The end says nothing about the destination: a second attempt lost, or the session ended.
  case withdrawn
}

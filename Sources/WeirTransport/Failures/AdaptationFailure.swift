/// Why an adapter could not make a request ready, or a credential could not be had: the values of `reason` in
/// weir_adaptation_failures_total.
@nonexhaustive
public enum AdaptationFailure: String, CaseIterable, Sendable {
  /// The adapter's own error: no credential, no key, a refusal.
  case error
  /// A resource that the adapter needed could not be fetched.
  case transport = "transport_error"
  /// It was not fetched in time.
  case timeout
  /// The answer that the adapter needed had an error status or could not be read.
  case response = "bad_response"
  /// The adapter's task was cancelled.
  case cancelled
  /// The token service's `error` (RFC 6749 section 5.2): the request for a token is malformed.
  case invalidRequest = "invalid_request"
  /// The same: the client is unknown, or its secret is wrong.
  case invalidClient = "invalid_client"
  /// The same: the assertion or token that was given is not good, or no longer.
  case invalidGrant = "invalid_grant"
  /// The same: the client may not use this grant.
  case unauthorizedClient = "unauthorized_client"
  /// The same: the token service doesn't know this grant.
  case unsupportedGrantType = "unsupported_grant_type"
  /// The same: a scope is unknown, malformed, or more than the client may have.
  case invalidScope = "invalid_scope"

  /// The words for failures that any adapter may have.
  package static let ofAnyAdapter = allCases.filter { !ofTokenService.contains($0) }

  /// The words of a token service.
  package static let ofTokenService: [AdaptationFailure] = [
    .invalidRequest, .invalidClient, .invalidGrant, .unauthorizedClient, .unsupportedGrantType, .invalidScope,
  ]
}

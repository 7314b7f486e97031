/// The present hop of an attempt: its request and the request that follows.
struct Hop {
  private(set) var request: HopRequest
  /// The next request, if this hop's response leads to one.
  var next: URLRequest?
  /// Whether the request that this hop's response asks for no longer has a body.
  var losesBody = false
  /// Whether an earlier hop lost the body. Then the only body is one that a redirect handler has set since.
  private(set) var hasLostBody = false
  /// Whether `next` follows a redirect; false if it repeats the hop's request, perhaps changed.
  var isRedirected = true
  /// Whether secrets meant for the first origin are left out.
  var hasLeftOrigin = false
  /// The request's own credential, for its first origin.
  var credential: URLCredential?
  /// The credential that the session's storage has for the present hop, which was challenged before.
  var stored: URLCredential?
  /// The Authorization field that answers the present hop's challenge.
  var authorization: String?
  /// Whether it answers a second challenge, as the first nonce was too old.
  var isAnswerRenewed = false
  /// The number of challenges of the present hop that were answered.
  var answeredChallenges = 0
  /// The proof of identity that the host has to give; nil: the session's settings decide.
  var trust: HostTrust?

  var url: URL? { request.url }

  /// The field that answers the present hop's challenge, if any.
  var answer: [(name: String, value: String)] { authorization.map { [("Authorization", $0)] } ?? [] }

  /// The credential that answers a challenge.
  var offered: URLCredential? { stored ?? (hasLeftOrigin ? nil : credential) }

  mutating func follow(_ next: URLRequest) {
    if isRedirected {
      (stored, authorization) = (nil, nil)
      isAnswerRenewed = false
      answeredChallenges = 0
    }
    request = HopRequest(next)
    self.next = nil
    if losesBody { hasLostBody = true }
    isRedirected = true
  }
}

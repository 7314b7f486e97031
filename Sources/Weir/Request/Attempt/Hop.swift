/// Where an attempt is: the request of the present hop and what follows it.
struct Hop {
  private(set) var request: HopRequest
  /// Set when this hop's response leads to another request.
  var next: URLRequest?
  /// Whether the request that this hop's response asks for has no body any more.
  var losesBody = false
  /// Whether an earlier hop lost the body: there is only what a redirect handler gave the request since.
  private(set) var hasLostBody = false
  /// Whether the response said so; if not, the request before it was no use.
  var isRedirected = true
  /// Whether secrets meant for the first origin stay behind.
  var hasLeftOrigin = false
  /// The request's own, for its first origin.
  var credential: URLCredential?
  /// What the session's storage has for the present hop, which was challenged before.
  var stored: URLCredential?
  /// Of the present hop's.
  var answeredChallenges = 0
  /// What the host has to prove; nil: what the session's settings say.
  var trust: HostTrust?

  var url: URL? { request.url }

  /// What a challenge is answered with.
  var offered: URLCredential? { stored ?? (hasLeftOrigin ? nil : credential) }

  mutating func follow(_ next: URLRequest) {
    if isRedirected {
      stored = nil
      answeredChallenges = 0
    }
    request = HopRequest(next)
    self.next = nil
    if losesBody { hasLostBody = true }
    isRedirected = true
  }
}

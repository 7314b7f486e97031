/// The rules of redirection (RFC 9110 section 15.4): which responses redirect, to which request, and when a redirect is
/// refused.
enum RedirectPolicy {
  /// Fields that belong to one origin: its secrets and its name.
  static let originFields = ["Authorization", "Proxy-Authorization", "Cookie", "Host"]
  private static let bodyFields = [
    "Content-Encoding", "Content-Language", "Content-Location", "Content-Type", "Content-Length", "Transfer-Encoding",
  ]

  enum Refusal: Equatable {
    case tooMany
    case insecure
    case unsupportedURL
  }

  /// The request that a response redirects to; nil if the response is final.
  ///
  /// - Parameter secretFields: The names of further fields that belong to the request's origin.
  static func proposal(
    status: Int, location: String?, for request: URLRequest, secretFields: Set<String> = []
  ) -> URLRequest? {
    guard [301, 302, 303, 307, 308].contains(status), let location, let current = request.url,
      let target = resolve(location, against: current)
    else { return nil }
    var next = request
    next.url = target
    if losesBody(status: status, method: request.httpMethod ?? "GET") {
      next.httpMethod = "GET"
      next.httpBody = nil
      next.httpBodyStream = nil
      for field in bodyFields { next.setValue(nil, forHTTPHeaderField: field) }
    }
    if !isSameOrigin(current, target) {
      for field in originFields + secretFields { next.setValue(nil, forHTTPHeaderField: field) }
    }
    return next
  }

  /// Whether such a response turns the request into a GET without a body.
  static func losesBody(status: Int, method: String) -> Bool {
    switch status {
    case 301, 302: method == "POST"
    case 303: method != "GET" && method != "HEAD"
    default: false
    }
  }

  /// The reason not to follow a redirect, whatever a handler answered.
  static func refusal(
    from current: URL?, to target: URL?, count: Int, limit: Int, allowsInsecure: Bool
  ) -> Refusal? {
    if count >= limit { return .tooMany }
    let scheme = target?.scheme?.lowercased()
    guard scheme == "http" || scheme == "https", target?.host()?.isEmpty == false else { return .unsupportedURL }
    return current?.scheme?.lowercased() == "https" && scheme == "http" && !allowsInsecure ? .insecure : nil
  }

  static func isSameOrigin(_ left: URL, _ right: URL) -> Bool {
    guard let left = Destination(url: left), let right = Destination(url: right) else { return false }
    return left == right
  }

  /// Resolves a location; a missing fragment is inherited (RFC 9110 section 10.2.2).
  private static func resolve(_ location: String, against current: URL) -> URL? {
    let trimmed = location.trimmingCharacters(in: .whitespaces)
    guard !trimmed.isEmpty, let target = URL(text: trimmed, relativeTo: current)?.absoluteURL else { return nil }
    guard let fragment = current.fragment(percentEncoded: true), target.fragment(percentEncoded: true) == nil,
      var parts = URLComponents(url: target, resolvingAgainstBaseURL: true)
    else { return target }
    parts.percentEncodedFragment = fragment
    return parts.url ?? target
  }
}

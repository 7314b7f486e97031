import Foundation
import Weir
import WeirIO

/// The URL of a probe's request.
struct ProbeURL: Equatable {
  let isSecure: Bool
  /// In canonical form; an IPv6 address has no brackets.
  let host: String
  /// Any number: one that is no port makes the request fail.
  let port: Int
  /// The Host field's value: with a port if the URL has one.
  let authority: String
  /// The absolute URL, without user name, password and fragment.
  let text: String
  /// The user name and password.
  let credential: (user: String, password: String)?
  private let url: URL

  /// Reads a target; one without a scheme is an `http` one.
  init?(target: String) {
    let hasScheme = target.hasPrefix("http://") || target.hasPrefix("https://")
    self.init(hasScheme ? target : "http://" + target)
  }

  private init?(_ text: String) {
    guard let url = URL(text: text) else { return nil }
    self.init(url)
  }

  private init?(_ url: URL) {
    guard let parts = URLComponents(url: url.absoluteURL, resolvingAgainstBaseURL: true),
      let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https", var host = parts.encodedHost
    else { return nil }
    if host.hasPrefix("[") { host = String(host.dropFirst().dropLast()) }
    let canonical = CanonicalHost(host)
    guard !canonical.text.isEmpty else { return nil }
    isSecure = scheme == "https"
    self.host = canonical.text
    port = parts.port ?? (isSecure ? 443 : 80)
    authority = canonical.inURL + (parts.port.map { ":\($0)" } ?? "")
    let path = parts.percentEncodedPath
    let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
    self.text = "\(scheme)://\(authority)\(path.isEmpty ? "/" : path)\(query)"
    credential = parts.user.map { ($0, parts.password ?? "") }
    self.url = url.absoluteURL
  }

  /// The URL of a redirect, and whether it stays at the same authority because it names none; nil for one that can't be
  /// followed.
  func redirect(to location: String) -> (url: ProbeURL, isRelative: Bool)? {
    let location = location.trimmingCharacters(in: .whitespaces)
    guard let target = URL(text: location, relativeTo: url), let next = ProbeURL(target) else { return nil }
    return (next, URL(text: location)?.host() == nil)
  }

  static func == (left: ProbeURL, right: ProbeURL) -> Bool { left.text == right.text }
}

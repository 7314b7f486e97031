import Foundation
package import FoundationNetworking

/// A request as a command line for curl, to be read by people and run again.
package struct CURLCommand {
  private let request: URLRequest
  private let sessionHeaders: HTTPHeaders
  private let credentials: [URLCredential]
  private let cookies: [HTTPCookie]
  private let redactingSecrets: Bool

  /// - Parameters:
  ///   - request: The request as it goes out, without the session's headers.
  ///   - credentials: What would answer a Basic challenge of the host.
  ///   - cookies: What the cookie storage has for the URL; empty when cookies are not sent.
  package init(
    request: URLRequest, sessionHeaders: HTTPHeaders = HTTPHeaders(), credentials: [URLCredential] = [],
    cookies: [HTTPCookie] = [], redactingSecrets: Bool = true
  ) {
    self.request = request
    self.sessionHeaders = sessionHeaders
    self.credentials = credentials
    self.cookies = cookies
    self.redactingSecrets = redactingSecrets
  }

  /// What stands for a request that has no URL, host or method.
  package static let failure = "$ curl command could not be created"

  /// The command, its parts on lines of their own.
  package var text: String {
    guard let url = request.url, url.host?.isEmpty == false, let method = request.httpMethod else {
      return Self.failure
    }
    var parts = ["$ curl -v", "-X \(method)"]
    parts += credentials.map(credentialPart)
    if !cookies.isEmpty {
      parts.append("-b \"\(cookies.map(cookiePart).joined(separator: ";"))\"")
    }
    parts += headers.map(headerPart)
    if let body = request.httpBody {
      parts.append("-d \"\(Self.escapedBody(String(decoding: body, as: UTF8.self)))\"")
    }
    parts.append("\"\(redactingSecrets ? Redaction.urls(in: url.absoluteString) : url.absoluteString)\"")
    return parts.joined(separator: " \\\n\t")
  }

  private var headers: HTTPHeaders {
    var headers = sessionHeaders
    for header in request.headers.sorted() { headers.update(header) }
    headers.remove(name: "Cookie")
    return headers
  }

  private func credentialPart(_ credential: URLCredential) -> String {
    "-u \(credential.user ?? ""):\(redactingSecrets ? Redaction.placeholder : credential.password ?? "")"
  }

  private func cookiePart(_ cookie: HTTPCookie) -> String {
    "\(cookie.name)=\(redactingSecrets ? Redaction.placeholder : cookie.value)"
  }

  private func headerPart(_ header: HTTPHeader) -> String {
    let value = redactingSecrets && Redaction.isSecretField(header.name) ? Redaction.placeholder : header.value
    return "-H \"\(header.name): \(value.replacingOccurrences(of: "\"", with: "\\\""))\""
  }

  /// A backslash before each quote; the backslash that already stood right before one is doubled, others stay.
  private static func escapedBody(_ body: String) -> String {
    body.replacingOccurrences(of: "\\\"", with: "\\\\\"").replacingOccurrences(of: "\"", with: "\\\"")
  }
}

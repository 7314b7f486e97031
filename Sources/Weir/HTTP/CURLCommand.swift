/// A request as a curl command line, for people to read and run.
struct CURLCommand {
  /// The request as it is sent, without the session's headers.
  let request: URLRequest
  var sessionHeaders = HTTPHeaders()
  /// Credentials that would answer a Basic challenge of the host.
  var credentials: [URLCredential] = []
  /// The storage's cookies for the URL; empty if cookies are not sent.
  var cookies: [HTTPCookie] = []
  var redactingSecrets = true

  /// The text for a request without a URL, host or method.
  static let failure = "$ curl command could not be created"

  /// The command, with each part on a line of its own.
  var text: String {
    guard let url = request.url, url.host?.isEmpty == false, let method = request.httpMethod else {
      return Self.failure
    }
    var parts = ["$ curl -v", "-X \(Self.quoted(method))"]
    parts += credentials.map(credentialPart)
    if !cookies.isEmpty { parts.append("-b \(Self.quoted(cookies.map(cookiePart).joined(separator: ";")))") }
    parts += headers.map(headerPart)
    if let body = request.httpBody {
      let text = String(decoding: body, as: UTF8.self)
      // curl would take `-d` with a leading `@` as the name of a file to read.
      parts.append("\(text.utf8.first == UInt8(ascii: "@") ? "--data-raw" : "-d") \(Self.quoted(text))")
    }
    parts.append(Self.quoted(redactingSecrets ? Redaction.urls(in: url.absoluteString) : url.absoluteString))
    return parts.joined(separator: " \\\n\t")
  }

  private var headers: HTTPHeaders {
    var headers = sessionHeaders
    for header in request.headers.sorted() { headers.update(header) }
    headers.remove(name: "Cookie")
    return headers
  }

  private func credentialPart(_ credential: URLCredential) -> String {
    let password = redactingSecrets ? Redaction.placeholder : credential.password ?? ""
    return "-u \(Self.quoted("\(credential.user ?? ""):\(password)"))"
  }

  private func cookiePart(_ cookie: HTTPCookie) -> String {
    "\(cookie.name)=\(redactingSecrets ? Redaction.placeholder : cookie.value)"
  }

  private func headerPart(_ header: HTTPHeader) -> String {
    let value = redactingSecrets && Redaction.isSecretField(header.name) ? Redaction.placeholder : header.value
    return "-H \(Self.quoted("\(header.name): \(value)"))"
  }

  /// Quotes one word for a shell, so that nothing in it is expanded. It works on bytes: a shell sees a quote even if a
  /// combining character follows it.
  private static func quoted(_ text: String) -> String {
    let parts = text.utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
    return "'" + parts.map { String(Substring($0)) }.joined(separator: #"'\''"#) + "'"
  }
}

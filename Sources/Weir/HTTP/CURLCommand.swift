/// A request as a command line for curl, to be read by people and run again.
struct CURLCommand {
  /// The request as it goes out, without the session's headers.
  let request: URLRequest
  var sessionHeaders = HTTPHeaders()
  /// Credentials that would answer a Basic challenge of the host.
  var credentials: [URLCredential] = []
  /// Cookies that the storage has for the URL; empty when cookies are not sent.
  var cookies: [HTTPCookie] = []
  var redactingSecrets = true

  /// What stands for a request that has no URL, host or method.
  static let failure = "$ curl command could not be created"

  /// The command, its parts on lines of their own.
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
      // Of what begins with an `@`, curl itself would read a file.
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

  /// One word of a shell, in which nothing is expanded. Byte by byte: to a shell a quote is one whatever combines with it.
  private static func quoted(_ text: String) -> String {
    let parts = text.utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
    return "'" + parts.map { String(Substring($0)) }.joined(separator: #"'\''"#) + "'"
  }
}

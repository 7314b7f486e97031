import WeirCurl

/// A request as a curl command line, for people to read and run: what curl sends by it is what weir sends, but for the
/// order of the fields. So it also says what curl would add of its own accord.
struct CURLCommand {
  /// The request as it is sent, without the session's headers.
  let request: URLRequest
  var body = CURLBody.none
  var sessionHeaders = HTTPHeaders()
  /// Credentials that would answer a challenge of the host.
  var credentials: [URLCredential] = []
  /// The storage's cookies for the URL; empty if cookies are not sent.
  var cookies: [HTTPCookie] = []
  var redactingSecrets = true

  /// The text for a request without a URL, host or method.
  static let failure = "$ curl command could not be created"

  /// The command, with each part on a line of its own, and a remark on what a command line can't say.
  var text: String {
    guard let url = request.url, url.host?.isEmpty == false, let method = request.httpMethod else {
      return Self.failure
    }
    // curl would wait for a body that a response to HEAD does not have; weir sends none with HEAD either.
    let isHead = method == "HEAD"
    let body = isHead ? .none : body
    var parts = ["curl -v", isHead ? "--head" : "-X \(ShellWord.quoted(method))"]
    parts += Self.options(for: url.absoluteString)
    let fields = fields
    if fields["Authorization"] == nil { parts += credentials.map(credentialPart) }
    if !cookies.isEmpty, fields["Cookie"] == nil {
      parts.append("-b \(ShellWord.quoted(cookies.map(cookiePart).joined(separator: "; ")))")
    }
    parts += fields.map(fieldPart)
    parts += absentFields(beside: fields, body).map { "-H '\($0):'" }
    if let option = body.option { parts.append(option) }
    parts.append(ShellWord.quoted(redactingSecrets ? Redaction.urls(in: url.absoluteString) : url.absoluteString))
    if let input = body.input { parts = ["printf \(input)", "| " + parts[0]] + parts.dropFirst() }
    let command = "$ " + parts.joined(separator: " \\\n\t")
    return body.remark.map { "\(command)\n# \($0)" } ?? command
  }

  /// Options without which curl would read something into the URL.
  private static func options(for url: String) -> [String] {
    let path = url.prefix { $0 != "?" && $0 != "#" }.lowercased().replacing("%2e", with: ".")
    let hasDots = path.split(separator: "/").contains { $0 == "." || $0 == ".." }
    let hasRanges = url.contains { "[]{}".contains($0) }
    return (hasDots ? ["--path-as-is"] : []) + (hasRanges ? ["--globoff"] : [])
  }

  // MARK: Fields

  /// The fields that are sent besides those that only the engine writes.
  private var fields: HTTPHeaders {
    var headers = sessionHeaders
    for header in request.headers.sorted() { headers.update(header) }
    return HTTPHeaders(
      headers.filter { header in
        var block = HeaderBlock()
        block.append(name: header.name, value: header.value)
        return block.count == 1
      })
  }

  /// Fields that curl would add of its own accord and weir does not. Both add `Accept: */*`.
  private func absentFields(beside fields: HTTPHeaders, _ body: CURLBody) -> [String] {
    var names = ["User-Agent"]
    if body.option != nil { names += ["Content-Type", "Expect"] }
    return names.filter { fields[$0] == nil }
  }

  private func credentialPart(_ credential: URLCredential) -> String {
    let password = redactingSecrets ? Redaction.placeholder : credential.password ?? ""
    // weir waits for the challenge.
    return "--anyauth -u \(ShellWord.quoted("\(credential.user ?? ""):\(password)"))"
  }

  private func cookiePart(_ cookie: HTTPCookie) -> String {
    "\(cookie.name)=\(redactingSecrets ? Redaction.placeholder : cookie.value)"
  }

  private func fieldPart(_ field: HTTPHeader) -> String {
    let value = field.value.drop { $0 == " " || $0 == "\t" }
    // With a colon alone curl would leave the field out.
    if value.isEmpty { return "-H \(ShellWord.quoted("\(field.name);"))" }
    let shown = redactingSecrets && Redaction.isSecretField(field.name) ? Redaction.placeholder : String(value)
    return "-H \(ShellWord.quoted("\(field.name): \(shown)"))"
  }
}

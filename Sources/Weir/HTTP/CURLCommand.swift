import WeirCurl
import WeirHTTP

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
  /// The names of further fields whose values are secrets.
  var secretFields: Set<String> = []

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
    let isSecret =
      Redaction.isSecretField(field.name) || secretFields.contains { FieldSyntax.isSameName($0, field.name) }
    let shown = redactingSecrets && isSecret ? Redaction.placeholder : String(value)
    return "-H \(ShellWord.quoted("\(field.name): \(shown)"))"
  }
}

/// The body of a request, as a curl command line says it.
enum CURLBody {
  case none
  case data(Data)
  case file(URL, isTemporary: Bool)
  /// Bytes that weir reads or makes while it sends them; nil for those that are sent in chunks.
  ///
  /// - Parameter what: What they are, for the remark.
  case input(length: Int64?, what: String)
  /// Bytes that are made when the request is sent.
  case unmade

  /// A body of which nothing is shown.
  static let secret = CURLBody.input(length: 0, what: "a secret")

  /// The longest text that is an argument: the system takes 128 KiB at most.
  private static let longestArgument = 100_000

  /// curl's option that sends the body; nil if there is none, or it is not made yet.
  var option: String? {
    switch self {
    case .none, .unmade: nil
    case .data(let data): Self.word(of: data).map(Self.option) ?? "--data-binary @-"
    case .file(let url, _): "--data-binary \(ShellWord.quoted("@\(url.path)"))"
    case .input(nil, _): "-T -"
    case .input: "--data-binary @-"
    }
  }

  /// The words for `printf` that write the body to curl's standard input; nil if they are not needed.
  var input: String? {
    guard case .data(let data) = self, Self.word(of: data) == nil else { return nil }
    return ShellWord.format(data)
  }

  /// A sentence on what the command does not do; nil if it does everything.
  var remark: String? {
    switch self {
    case .none, .data, .file(_, isTemporary: false): nil
    case .file: "The file is removed when the request has ended."
    case .input(_, let what): "The body is \(what): give it to curl's standard input."
    case .unmade: "The body is made when the request is sent."
    }
  }

  private static func option(_ text: String) -> String {
    // curl would take `-d` with a leading `@` as the name of a file to read.
    "\(text.utf8.first == UInt8(ascii: "@") ? "--data-raw" : "-d") \(ShellWord.quoted(text))"
  }

  /// The body as an argument; nil if it can't be one: a zero byte ends an argument, and control characters would not
  /// survive a terminal.
  private static func word(of data: Data) -> String? {
    guard data.count <= longestArgument, data.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0A })
    else { return nil }
    return String(validating: data, as: UTF8.self)
  }
}

/// Quotes words for a shell, so that nothing in them is expanded. It works on bytes: a shell sees a quote even if a
/// combining character follows it.
enum ShellWord {
  static func quoted(_ text: String) -> String {
    let parts = text.utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
    return "'" + parts.map { String(Substring($0)) }.joined(separator: #"'\''"#) + "'"
  }

  /// A format for `printf` that writes these bytes, whatever they are.
  static func format(_ bytes: Data) -> String {
    var text: [UInt8] = [UInt8(ascii: "'")]
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "'"): text += #"'\''"#.utf8
      case UInt8(ascii: "\\"): text += #"\\"#.utf8
      case UInt8(ascii: "%"): text += "%%".utf8
      case 0x09: text += #"\t"#.utf8
      case 0x0A: text += #"\n"#.utf8
      case 0x0D: text += #"\r"#.utf8
      // A minus at the start would be an option's.
      case UInt8(ascii: "-") where text.count > 1, 0x20...0x2C, 0x2E...0x7E: text.append(byte)
      default: text += [UInt8(ascii: "\\")] + [byte >> 6, byte >> 3 & 7, byte & 7].map { UInt8(ascii: "0") + $0 }
      }
    }
    return String(decoding: text + [UInt8(ascii: "'")], as: UTF8.self)
  }
}

import WeirCurl
import WeirHTTP
import WeirTransport

/// A module of the probe page: how a target is asked, and which answers are good. The keys are blackbox_exporter's.
struct ProbeModule: Sendable, Equatable {
  /// Seconds; nil leaves the scrape's timeout as the only one.
  var timeout: Double?
  /// Empty means 200 to 299.
  var validStatusCodes: [Int] = []
  /// Such as `HTTP/1.1`; empty means any.
  var validVersions: [String] = []
  var method = "GET"
  var headers: [HeaderRule] = []
  var body = ""
  var compression: Compression?
  /// The most octets of the body, decoded; nil for any number.
  var bodyLimit: Int64?
  var followsRedirects = true
  var failsIfSecure = false
  var failsIfPlain = false
  var prefersIPv4 = false
  /// Whether an address of the other version of IP will do.
  var fallsBack = true
  var allowsHTTP2 = true
  var authorization: Authorization?
  var tls = TLS()
  var bodyMustNotMatch: [Pattern] = []
  var bodyMustMatch: [Pattern] = []
  var fieldsMustNotMatch: [FieldPattern] = []
  var fieldsMustMatch: [FieldPattern] = []
  /// The module as the file has it, without secrets.
  var text = "prober: http\n"

  enum Compression: String, Sendable {
    case gzip, deflate
  }

  /// The credential of each request to the target's own host. Files are read at each probe, as tokens change.
  enum Authorization: Sendable, Equatable {
    case basic(user: String, password: Secret)
    case scheme(String, Secret)
  }

  enum Secret: Sendable, Equatable {
    case text(String)
    case file(String)
  }

  /// A field and what its values must or must not be.
  struct FieldPattern: Sendable, Equatable {
    let name: String
    let pattern: Pattern
    let mayBeMissing: Bool
  }

  struct TLS: Sendable, Equatable {
    var caFile: String?
    var certificateFile: String?
    var keyFile: String?
    var serverName: String?
    var skipsVerification = false
    var minimumVersion = TLSOptions.MinimumVersion.tls12
    var maximumVersion: TLSOptions.MinimumVersion?

    /// The transport's form.
    var options: TLSOptions {
      var options = TLSOptions()
      if let caFile { options.roots = .file(caFile) }
      if let certificateFile {
        options.clientCertificate = ClientCertificateOptions(
          format: .pem, certificate: .file(certificateFile), key: keyFile.map { .file($0) })
      }
      options.minimumVersion = minimumVersion
      options.maximumVersion = maximumVersion
      options.allowsInsecureServers = skipsVerification
      return options
    }
  }

  /// Whether a response is matched by regular expressions.
  var hasPatterns: Bool {
    !bodyMustMatch.isEmpty || !bodyMustNotMatch.isEmpty || !fieldsMustMatch.isEmpty || !fieldsMustNotMatch.isEmpty
  }

  /// The value of a header field of the module; nil without one.
  func header(_ name: String) -> String? {
    headers.first { FieldSyntax.isSameName($0.name, name) }?.value
  }
}

/// Shows no secret.
extension ProbeModule: CustomStringConvertible, CustomReflectable {
  var description: String { "ProbeModule(\(text))" }

  var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .struct) }
}

/// The reason why a probe, or a part of one, can't be made.
struct ProbeProblem: Error, Equatable, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// A module as text, for people who look for what a probe did. Secrets are left out.
enum ProbeModuleText {
  private static let secrets: Set<String> = ["password", "credentials", "bearer_token", "body"]
  private static let placeholder = "<secret>"

  static func text(of node: YAMLNode) -> String {
    var text = ""
    append(node, indent: 0, isSecret: false, to: &text)
    return text
  }

  private static func append(_ node: YAMLNode, indent: Int, isSecret: Bool, to text: inout String) {
    let blank = String(repeating: "  ", count: indent)
    switch node.content {
    case .scalar(let scalar): text += isSecret ? placeholder : scalar.asText
    case .sequence(let nodes):
      for element in nodes {
        text += "\(blank)-"
        appendInside(element, indent: indent, isSecret: isSecret, to: &text)
      }
    case .mapping(let entries):
      for entry in entries {
        let isSecret = isSecret || secrets.contains(entry.key) || Redaction.isSecretField(entry.key)
        text += "\(blank)\(entry.key):"
        appendInside(entry.value, indent: indent, isSecret: isSecret && !isMapping(entry.value), to: &text)
      }
    }
  }

  /// A mapping hides nothing by its own name: `authorization` holds a type besides the credentials.
  private static func isMapping(_ node: YAMLNode) -> Bool {
    if case .mapping = node.content { true } else { false }
  }

  private static func appendInside(_ node: YAMLNode, indent: Int, isSecret: Bool, to text: inout String) {
    if case .scalar = node.content {
      text += " "
      append(node, indent: 0, isSecret: isSecret, to: &text)
      text += "\n"
    } else {
      text += "\n"
      append(node, indent: indent + 1, isSecret: isSecret, to: &text)
    }
  }
}

extension YAMLScalar {
  /// Strings that would read as something else are quoted, and so are those of several lines.
  fileprivate var asText: String {
    guard case .string(let string) = value else { return text }
    let isPlain =
      YAMLScalar(plain: string).value == value && !string.contains { "\n\r\t\"'#:{}[],&*!|>%@`".contains($0) }
    return isPlain ? string : quoted(string, limit: 4096)
  }
}

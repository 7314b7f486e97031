package import WeirCurl
import WeirHTTP

/// A module of the probe page: how a target is asked, and which answers are good. The keys are blackbox_exporter's.
package struct ProbeModule: Sendable, Equatable {
  /// Seconds; nil leaves the scrape's timeout as the only one.
  package var timeout: Double?
  /// Empty means 200 to 299.
  package var validStatusCodes: [Int] = []
  /// Such as `HTTP/1.1`; empty means any.
  package var validVersions: [String] = []
  package var method = "GET"
  package var headers: [HeaderRule] = []
  package var body = ""
  package var compression: Compression?
  /// The most octets of the body, decoded; nil for any number.
  package var bodyLimit: Int64?
  package var followsRedirects = true
  package var failsIfSecure = false
  package var failsIfPlain = false
  package var prefersIPv4 = false
  /// Whether an address of the other version of IP will do.
  package var fallsBack = true
  package var allowsHTTP2 = true
  package var authorization: Authorization?
  package var tls = TLS()
  var bodyMustNotMatch: [Pattern] = []
  var bodyMustMatch: [Pattern] = []
  var fieldsMustNotMatch: [FieldPattern] = []
  var fieldsMustMatch: [FieldPattern] = []
  /// The module as the file has it, without secrets.
  var text = "prober: http\n"

  package init() {}

  package enum Compression: String, Sendable {
    case gzip, deflate
  }

  /// The credential of each request to the target's own host. Files are read at each probe, as tokens change.
  package enum Authorization: Sendable, Equatable {
    case basic(user: String, password: Secret)
    case scheme(String, Secret)
  }

  package enum Secret: Sendable, Equatable {
    case text(String)
    case file(String)
  }

  /// A field and what its values must or must not be.
  struct FieldPattern: Sendable, Equatable {
    let name: String
    let pattern: Pattern
    let mayBeMissing: Bool
  }

  package struct TLS: Sendable, Equatable {
    package var caFile: String?
    package var certificateFile: String?
    package var keyFile: String?
    package var serverName: String?
    package var skipsVerification = false
    package var minimumVersion = TLSOptions.MinimumVersion.tls12
    package var maximumVersion: TLSOptions.MinimumVersion?

    package init() {}

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

  /// The value of a header field of the module; nil without one.
  func header(_ name: String) -> String? {
    headers.first { FieldSyntax.isSameName($0.name, name) }?.value
  }
}

/// Shows no secret.
extension ProbeModule: CustomStringConvertible, CustomReflectable {
  package var description: String { "ProbeModule(\(text))" }

  package var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .struct) }
}

extension ProbeModule {
  /// Whether a response is matched by regular expressions.
  var hasPatterns: Bool {
    !bodyMustMatch.isEmpty || !bodyMustNotMatch.isEmpty || !fieldsMustMatch.isEmpty || !fieldsMustNotMatch.isEmpty
  }
}

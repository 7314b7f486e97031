import Glibc
package import WeirCurl
import WeirHTTP

/// Extends libcurl's text of a failed transfer: with the setting that matters and its value, or with what to look at.
package struct TransferAdvice {
  private let options: TransportOptions
  /// The transfer's settings in place of the transport's.
  private let rules: TransferRules?
  /// Whether the silence exceeded the URL request's own `timeoutInterval`.
  private let hasOwnTimeout: Bool
  private let settings: Settings

  /// Whose settings the advice names.
  package enum Settings: Sendable {
    /// Those of a session's configuration.
    case session
    /// The keys of an upstream in the gateway's configuration.
    case upstream
    /// The flags of `weir probe`.
    case probe
  }

  package init(
    options: TransportOptions, rules: TransferRules? = nil, hasOwnTimeout: Bool = false,
    naming settings: Settings = .session
  ) {
    self.options = options
    self.rules = rules
    self.hasOwnTimeout = hasOwnTimeout
    self.settings = settings
  }

  /// libcurl's text without redundant parts, followed by the advice.
  func text(of error: TransferError) -> String {
    let fact = FieldSyntax.trimmed(Substring(Self.fact(error)))
    return advice(on: error).map { "\(fact) (\($0))" } ?? String(fact)
  }

  /// libcurl's text without the time that a failed connect took, and with the system's reason for the failure. If libcurl
  /// sent the request again on another connection, it may have kept the text of the first failure.
  private static func fact(_ error: TransferError) -> String {
    guard !error.message.isEmpty else { return error.label }
    if error.code == .unsupportedProtocol, error.message != TransferError.unsupportedURL,
      !error.message.contains("HTTP")
    {
      return "the server's answer is not HTTP"
    }
    guard error.code == .couldNotConnect || error.code == .timedOut else { return error.message }
    var text = withoutTime(error.message)
    for echo in [": Couldn't connect to server", ": Could not connect to server"]
    where text.hasSuffix(echo) && error.osErrno != 0 {
      text = text.dropLast(echo.count) + ": \(String(cString: strerror(error.osErrno)))"
    }
    return text
  }

  /// The text without the time that a connect took: " after 12 ms". In octets, since where nothing listens each attempt has one.
  private static func withoutTime(_ text: String) -> String {
    let octets = text.utf8
    for start in octets.indices where octets[start] == .space && octets[start...].starts(with: " after ".utf8) {
      let number = octets[start...].dropFirst(" after ".utf8.count)
      let rest = number.drop { $0.isDigit }
      if rest.startIndex > number.startIndex, rest.starts(with: " ms".utf8) {
        return String(text[..<start] + text[rest.dropFirst(" ms".utf8.count).startIndex...])
      }
    }
    return text
  }

  private func advice(on error: TransferError) -> String? {
    switch error.kind {
    case .silence where hasOwnTimeout: "the URL request's timeoutInterval"
    case .silence: named("timeoutIntervalForRequest", upstream: "silenceTimeout", probe: "--timeout")
    case .attemptTimeout: "attemptTimeout"
    case .headTooLarge where error.message.contains("interim"): "at most \(ResponseHead.mostInterim)"
    case .headTooLarge: "\(options.maximumHeaderSize) bytes"
    case .proxyUnauthorized: named("proxy", upstream: "proxy.credential", probe: nil)
    case .proxyRefused, .proxyUnreachable, .proxyTimeout: "proxy"
    case .proxyTLS: named("proxy", upstream: "proxy.tls", probe: nil)
    case .noSocket where error.osErrno == EMFILE: "raise the limit of open files, RLIMIT_NOFILE"
    case .curl: advice(onLibcurls: error)
    default: nil
    }
  }

  private func advice(onLibcurls error: TransferError) -> String? {
    switch error.code {
    case .couldNotResolveHost:
      "check the name and the machine's resolver"
        + (settings == .session ? "; resolveOverrides answers in its place" : "")
    case .couldNotConnect where error.osErrno == ECONNREFUSED: "nothing listens there"
    case .emptyReply: "the server has closed the connection without an answer; perhaps it speaks https there"
    case .timedOut where settings == .probe: "--timeout"
    case .timedOut: "connectTimeout: \(rules?.connectTimeout ?? options.connectTimeout) s"
    case .tlsConnect where error.message.contains("wrong version number"): "the server seems to speak plain http there"
    case .tlsConnect where error.message.contains("SSL_ERROR_SYSCALL"):
      "the server has closed the connection in the handshake; perhaps it speaks plain http there"
    case .peerFailedVerification: advice(on: error.certificateDefect)
    case .badTrustRoots: named("tls.trustRoots: \(options.tls.roots.text)", upstream: "tls.ca", probe: "--tls.ca")
    case .clientCertificateProblem, .clientCertificateRequired:
      named("tls.clientCertificate", upstream: "tls.certificate", probe: "a module's tls_config has cert_file")
    case .pinnedPublicKeyMismatch:
      named("tls.pinnedPublicKeys: \(options.tls.pinnedPublicKeys.count)", upstream: "tls.pins", probe: nil)
    default: nil
    }
  }

  private func advice(on defect: CertificateDefect?) -> String? {
    switch defect {
    case .unknownRoot:
      named(
        "tls.trustRoots: \(options.tls.roots.text); put the certificate of the server's authority there",
        upstream: "put the certificate of the server's authority into the upstream's tls.ca",
        probe: "give the certificate of the server's authority by --tls.ca")
    case .expired, .notYetValid: "the server needs another certificate, or this machine's clock is wrong"
    case .wrongHost:
      named(
        "the URL has to name the server as its certificate does; resolveOverrides gives the address",
        upstream: "the certificate has another name; tls.serverName is the name to look for",
        probe: "the URL has to name the server as its certificate does")
    case .other, nil: nil
    }
  }

  private func named(_ session: String, upstream: String, probe: String?) -> String? {
    switch settings {
    case .session: session
    case .upstream: upstream
    case .probe: probe
    }
  }
}

extension TLSOptions.Roots {
  fileprivate var text: String {
    switch self {
    case .system: ".system"
    case .file(let path): ".file(\"\(path)\")"
    case .pem(let bytes): ".pem(\(bytes.count) bytes)"
    }
  }
}

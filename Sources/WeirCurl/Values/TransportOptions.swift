internal import Glibc

/// The options of all transfers of one engine.
package struct TransportOptions: Sendable {
  /// Seconds for name lookup, TCP and TLS together.
  package var connectTimeout: Double = 30
  /// Seconds after which an idle connection is closed; rounded up to whole seconds.
  package var idleConnectionLifetime: Double = 60
  /// With more connections than this, including those in use, the one that has been idle longest is closed. The default
  /// is rarely reached, as idle connections are closed for their age.
  package var maximumPooledConnections: Int = 100_000
  /// Bytes of one response head, status line and blank line included.
  package var maximumHeaderSize: Int = 262_144
  package var proxy: ProxyOptions = .none
  /// The Unix socket to connect to; the URL still gives the Host header and the TLS name.
  package var unixSocketPath: String?
  package var resolveOverrides: [ResolveOverrideOptions] = []
  package var tls = TLSOptions()
  /// Whether reports tell of the server's side of TLS connections.
  package var notesPeers = false
  package var httpVersion: HTTPVersionChoice = .automatic
  package var http1Engine = HTTP1EngineChoice.standard
  /// The maximum number of concurrent name lookups, each of which is a thread of libcurl.
  package var maximumConcurrentLookups: Int = 32

  package init() {}
}

/// The HTTP versions that may be used.
package enum HTTPVersionChoice: Sendable, Hashable {
  /// HTTP/2 by ALPN on https, else 1.1; with libcurl below 8.1, whose HTTP/2 loses bytes, always 1.1.
  case automatic
  case http1_1
  /// HTTP/2 by ALPN on https, else 1.1.
  case http2
  /// HTTP/2 from the first byte, without asking.
  case http2PriorKnowledge
}

/// The engine for the requests that either engine could run.
package enum HTTP1EngineChoice: Sendable, Hashable {
  case own, libcurl

  /// Our own, unless the environment has `WEIR_HTTP1_ENGINE=libcurl`, or libcurl doesn't give away the connections that
  /// it opens for others.
  package static let standard: Self =
    !CurlLibrary.givesConnectionsAway || getenv("WEIR_HTTP1_ENGINE").map { String(cString: $0) == "libcurl" } ?? false
    ? .libcurl : .own
}

/// A user name and password.
package struct TransferCredential: Sendable, Hashable {
  package var user: String
  package var password: String

  package init(user: String, password: String) {
    self.user = user
    self.password = password
  }
}

/// Hides the password, which must not appear in logs.
extension TransferCredential: CustomStringConvertible, CustomReflectable {
  package var description: String { "TransferCredential(user: \(user), password: <redacted>)" }

  package var customMirror: Mirror {
    Mirror(self, children: ["user": user, "password": "<redacted>"], displayStyle: .struct)
  }
}

/// Addresses used for a host and port in place of a name lookup.
package struct ResolveOverrideOptions: Sendable, Hashable {
  package var host: String
  package var port: Int
  package var addresses: [String]

  package init(host: String, port: Int, addresses: [String]) {
    self.host = host
    self.port = port
    self.addresses = addresses
  }
}

/// How servers are authenticated, and how we authenticate to them.
package struct TLSOptions: Sendable, Hashable {
  package enum Roots: Sendable, Hashable {
    case system
    /// A file of PEM certificates. It is read again when the last read is more than five seconds old.
    case file(String)
    /// PEM certificates.
    case pem([UInt8])
  }

  /// Each with the number that libcurl has for it (CURL_SSLVERSION_TLSv1_0 and the following).
  package enum MinimumVersion: Int, Sendable {
    case tls10 = 4
    case tls11, tls12, tls13
  }

  package var roots: Roots = .system
  package var clientCertificate: ClientCertificateOptions?
  /// SHA-256 digests of the SubjectPublicKeyInfo in base64, without prefix. One match is enough; an empty list means no
  /// pinning.
  package var pinnedPublicKeys: [String] = []
  package var minimumVersion: MinimumVersion = .tls12
  /// Nil for the newest that the TLS library knows.
  package var maximumVersion: MinimumVersion?
  /// Whether the certificate must be for the host.
  package var verifiesHost = true
  /// Whether the certificate must lead to a root.
  package var verifiesPeer = true

  package init() {}

  /// Turns off every check of the server's certificate; pins still apply.
  package var allowsInsecureServers: Bool {
    get { !verifiesHost && !verifiesPeer }
    set {
      verifiesHost = !newValue
      verifiesPeer = !newValue
    }
  }
}

/// The certificate that we present to servers that ask for one.
package struct ClientCertificateOptions: Sendable, Hashable {
  package enum Source: Sendable, Hashable {
    case file(String)
    case blob([UInt8])
  }

  package enum Format: Sendable, Hashable {
    case pem, pkcs12
  }

  package var format: Format
  package var certificate: Source
  /// The private key, if it is not in `certificate`; PEM only.
  package var key: Source?
  package var passphrase: String?

  package init(format: Format, certificate: Source, key: Source? = nil, passphrase: String? = nil) {
    self.format = format
    self.certificate = certificate
    self.key = key
    self.passphrase = passphrase
  }
}

/// Shows the sources only: keys and passphrases must not appear in logs.
extension ClientCertificateOptions: CustomStringConvertible, CustomReflectable {
  package var description: String {
    let key = key.map { ", key: \($0)" } ?? ""
    return "ClientCertificateOptions(\(format), certificate: \(certificate)\(key))"
  }

  package var customMirror: Mirror {
    Mirror(self, children: ["description": description], displayStyle: .struct)
  }
}

extension ClientCertificateOptions.Source: CustomStringConvertible, CustomReflectable {
  package var description: String {
    switch self {
    case .file(let path): path
    case .blob(let bytes): "\(bytes.count) bytes"
    }
  }

  package var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .enum) }
}

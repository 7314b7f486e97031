import FoundationNetworking

// Keys, and what they are encrypted with, belong in no log.

extension TLSConfiguration.ClientCertificate: CustomStringConvertible, CustomReflectable {
  /// Where certificate and key are from, without any of them.
  public var description: String {
    let key = privateKey.map { ", privateKey: \($0)" } ?? ""
    let passphrase = passphrase == nil ? "" : ", passphrase: \(Redaction.placeholder)"
    return "ClientCertificate(certificate: \(certificate)\(key), format: \(format)\(passphrase))"
  }

  /// The description alone.
  public var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .struct) }
}

extension TLSConfiguration.ClientCertificate.Source: CustomStringConvertible, CustomReflectable {
  /// The path, or how many bytes there are.
  public var description: String {
    switch self {
    case .file(let path): path
    case .data(let data): "\(data.count) bytes"
    }
  }

  /// The description alone.
  public var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .enum) }
}

extension ProxyConfiguration: CustomStringConvertible, CustomReflectable {
  /// Kind, host and port, and the credential's user.
  public var description: String {
    switch self {
    case .none: "none"
    case .environment: "environment"
    case .http(let host, let port, let credential): Self.text("http", host, port, credential)
    case .socks5(let host, let port, let credential): Self.text("socks5", host, port, credential)
    }
  }

  /// The description alone.
  public var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .enum) }

  private static func text(_ kind: String, _ host: String, _ port: Int, _ credential: URLCredential?) -> String {
    let credential = credential.map { ", user: \($0.user ?? ""), password: \(Redaction.placeholder)" } ?? ""
    return "\(kind)(host: \(host), port: \(port)\(credential))"
  }
}

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

// Keys and their passphrases must not appear in logs.

extension TLSConfiguration.ClientCertificate: CustomStringConvertible, CustomReflectable {
  /// The sources of certificate and key, without their contents.
  public var description: String {
    let key = privateKey.map { ", privateKey: \($0)" } ?? ""
    let passphrase = passphrase == nil ? "" : ", passphrase: \(Redaction.placeholder)"
    return "ClientCertificate(certificate: \(certificate)\(key), format: \(format)\(passphrase))"
  }

  /// Only the description.
  public var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .struct) }
}

extension TLSConfiguration.ClientCertificate.Source: CustomStringConvertible, CustomReflectable {
  /// The path, or the number of bytes.
  public var description: String {
    switch self {
    case .file(let path): path
    case .data(let data): "\(data.count) bytes"
    }
  }

  /// Only the description.
  public var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .enum) }
}

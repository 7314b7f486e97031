import Foundation
import WeirCurl

extension TLSOptions {
  init(_ configuration: TLSConfiguration) {
    self.init()
    roots =
      switch configuration.trustRoots {
      case .system: .system
      case .file(let path): .file(path)
      case .pem(let data): .pem([UInt8](data))
      }
    clientCertificate = configuration.clientCertificate.map(ClientCertificateOptions.init)
    pinnedPublicKeys = configuration.pinnedPublicKeys.map(\.sha256)
    minimumVersion = configuration.minimumVersion == .tls13 ? .tls13 : .tls12
    allowsInsecureServers = configuration.allowsInsecureServers
  }
}

extension ClientCertificateOptions {
  fileprivate init(_ certificate: TLSConfiguration.ClientCertificate) {
    self.init(
      format: certificate.format == .pem ? .pem : .pkcs12, certificate: Source(certificate.certificate),
      key: certificate.privateKey.map(Source.init), passphrase: certificate.passphrase)
  }
}

extension ClientCertificateOptions.Source {
  fileprivate init(_ source: TLSConfiguration.ClientCertificate.Source) {
    self =
      switch source {
      case .file(let path): .file(path)
      case .data(let data): .blob([UInt8](data))
      }
  }
}

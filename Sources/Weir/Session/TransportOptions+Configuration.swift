internal import Foundation
internal import FoundationNetworking
internal import WeirCurl

extension TransportOptions {
  /// What the engine has to know of a session's configuration.
  init(_ configuration: SessionConfiguration) {
    self.init()
    connectTimeout = configuration.connectTimeout
    idleConnectionLifetime = configuration.idleConnectionLifetime
    maximumHeaderSize = configuration.maximumHeaderSize
    unixSocketPath = configuration.unixSocketPath
  }
}

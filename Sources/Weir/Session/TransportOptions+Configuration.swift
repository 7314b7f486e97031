import Foundation
import FoundationNetworking
import WeirCurl

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

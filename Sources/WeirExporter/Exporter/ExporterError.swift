import Glibc
import WeirIO
public import WeirMetrics
package import WeirServer

/// The reason why an exporter can't be made or started. Its description says what to change.
public struct ExporterError: Error, Sendable, CustomStringConvertible {
  /// The kinds of error that a program can tell apart.
  @nonexhaustive
  public enum Code: String, Sendable {
    /// `listenAddress` is not an address.
    case invalidAddress
    /// Another program or listener uses the address.
    case addressInUse
    /// No interface of this machine has the address, or the path of the socket doesn't exist.
    case addressNotAvailable
    /// The process may not listen at the address.
    case notPermitted
    /// `Options.headers` holds a field that can't be sent.
    case invalidHeader
    /// `Options.access` has no user and no token, or holds a name, hash, token or excluded path that can't be used.
    case invalidAccess
    /// The files of certificate, key or authorities can't be read or don't fit together.
    case invalidTLS
    /// The registry holds other metrics under a name of the exporter's; ``ExporterError/registryError`` says which.
    case registration
    /// `start` was called while the exporter runs.
    case alreadyStarted
    /// The system has no thread, descriptor or memory left.
    case system
  }

  /// The kind of error.
  public let code: Code
  public let description: String
  /// The registry's own error, with ``Code/registration``.
  public let registryError: RegistryError?

  init(_ code: Code, _ description: String, registryError: RegistryError? = nil) {
    self.code = code
    self.description = description
    self.registryError = registryError
  }
}

extension ExporterError {
  init(_ error: SocketAddressError) {
    self.init(.invalidAddress, "listenAddress: \(error)")
  }

  init(_ error: RegistryError) {
    self.init(
      .registration, "\(error); the exporter needs this name, so rename the metric that was registered before",
      registryError: error)
  }

  package init(_ error: ListenError) {
    switch error.error.rawValue {
    case EADDRINUSE:
      self.init(.addressInUse, "\(error); stop it, or give another listenAddress (port 0 lets the system choose)")
    case EADDRNOTAVAIL, EAFNOSUPPORT:
      self.init(.addressNotAvailable, "\(error); give the address of an interface of this machine, or :port for all")
    case ENOENT, ENOTDIR:
      self.init(.addressNotAvailable, "\(error); make the socket's directory first")
    case EACCES, EPERM:
      self.init(.notPermitted, "\(error); ports below 1024 need a privilege, a socket's directory must be writable")
    default:
      self.init(.system, "\(error)")
    }
  }

  init(_ error: Errno) {
    self.init(.system, "the exporter's thread can't be started: \(error); raise the limits of the process")
  }

  static func invalidHeader(_ problem: String) -> ExporterError {
    ExporterError(.invalidHeader, "Options.headers: \(problem)")
  }

  static func invalidAccess(_ problem: String) -> ExporterError {
    ExporterError(.invalidAccess, "Options.access: \(problem)")
  }

  package static func invalidTLS(_ problem: String) -> ExporterError {
    ExporterError(.invalidTLS, "TLS: \(problem)")
  }

  static let alreadyStarted = ExporterError(
    .alreadyStarted, "the exporter runs already; stop it before it is started again")
}

import Foundation
import Testing
import Weir

/// What a server does wrong, and what is to come of it.
struct Fault: Sendable, CustomTestStringConvertible {
  enum End: Sendable {
    /// All of the response is there.
    case whole
    case failed(URLError.Code, RequestOutcome)
  }

  /// Where in an attempt it happens.
  enum Stage: Sendable {
    /// No connection came of it that a request could use.
    case handshake
    case exchange
  }

  let name: String
  let end: End
  var stage = Stage.exchange
  /// How long to wait for a handshake, and for any sign of life, in seconds: short where nothing comes.
  var patience = 30.0
  var sendsBody = false
  /// libcurl doesn't tell; docs/libcurl.md says so.
  var isKnownIssue = false

  var testDescription: String { name }
  var isHTTP2: Bool { name.hasPrefix("h2 ") }

  init(_ name: String, _ end: End, _ change: (inout Fault) -> Void = { _ in }) {
    self.name = name
    self.end = end
    change(&self)
  }

  /// Fails in the handshake.
  static func handshake(_ name: String, _ code: URLError.Code, patience: Double = 30) -> Fault {
    Fault(name, .failed(code, code == .timedOut ? .timeout : .tlsError)) {
      $0.stage = .handshake
      $0.patience = patience
    }
  }

  static func lost(_ name: String) -> Fault { Fault(name, .failed(.networkConnectionLost, .transportError)) }

  static func whole(_ name: String) -> Fault { Fault(name, .whole) }

  /// TLS itself is broken while the response comes.
  static func broken(_ name: String) -> Fault { Fault(name, .failed(.secureConnectionFailed, .tlsError)) }

  static func stalled(_ name: String, _ change: (inout Fault) -> Void = { _ in }) -> Fault {
    var fault = Fault(name, .failed(.timedOut, .timeout)) { $0.patience = 1 }
    change(&fault)
    return fault
  }
}

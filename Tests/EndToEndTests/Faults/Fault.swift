import Foundation
import Testing
import Weir
import WeirCurl

/// What a server does wrong, and what is to come of it.
struct Fault: Sendable, CustomTestStringConvertible {
  enum End: Sendable {
    /// All of the response is there.
    case whole
    case failed(URLError.Code, RequestOutcome)

    static let lost = End.failed(.networkConnectionLost, .transportError)
  }

  /// Where in an attempt it happens.
  enum Stage: Sendable {
    /// No connection came of it that a request could use.
    case handshake
    case exchange
  }

  let name: String
  let end: End
  /// What comes of it with a libcurl whose HTTP/2 and TLS tell less, where that differs.
  var endOfOlder: End?
  var stage = Stage.exchange
  /// How long to wait for a handshake, and for any sign of life, in seconds: short where nothing comes.
  var patience = 30.0
  var sendsBody = false
  /// This libcurl doesn't tell.
  var isKnownIssue = false

  var testDescription: String { name }
  /// What is to come of it here.
  var expected: End { CurlLibrary.hasReliableHTTP2 ? end : endOfOlder ?? end }
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

  static func lost(_ name: String) -> Fault { Fault(name, .lost) }

  static func whole(_ name: String) -> Fault { Fault(name, .whole) }

  /// Lost to an older libcurl; a newer one says that the response is none.
  static func malformed(_ name: String) -> Fault {
    Fault(name, .failed(.badServerResponse, .transportError)) {
      $0.endOfOlder = .lost
    }
  }

  /// TLS itself is broken while the response comes.
  static func broken(_ name: String) -> Fault { Fault(name, .failed(.secureConnectionFailed, .tlsError)) }

  /// The end of the body is that of TLS, which the engine of an older libcurl does not tell from a cut: nothing is
  /// believed there.
  static func delimited(_ name: String, _ end: End) -> Fault {
    Fault(name, end) {
      if HTTP1EngineChoice.standard == .libcurl { $0.endOfOlder = .failed(.badServerResponse, .transportError) }
    }
  }

  static func tooLarge(_ name: String, older: URLError.Code) -> Fault {
    Fault(name, .failed(.dataLengthExceedsMaximum, .limitExceeded)) {
      $0.endOfOlder = .failed(older, .transportError)
    }
  }

  static func stalled(_ name: String, _ change: (inout Fault) -> Void = { _ in }) -> Fault {
    var fault = Fault(name, .failed(.timedOut, .timeout)) { $0.patience = 1 }
    change(&fault)
    return fault
  }
}

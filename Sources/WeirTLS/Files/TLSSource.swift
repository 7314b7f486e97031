import Synchronization

/// The TLS of a listener. New connections get the context of the latest settings, and open ones keep theirs.
package final class TLSSource: Sendable {
  private let context: Mutex<TLSServerContext>
  package let observer: @Sendable (TLSHandshake) -> Void

  /// - Parameter observer: Called for each handshake that has ended, on the loop of its connection.
  package init(_ context: TLSServerContext, observer: @escaping @Sendable (TLSHandshake) -> Void) {
    self.context = Mutex(context)
    self.observer = observer
  }

  /// The context of new connections.
  package var current: TLSServerContext { context.withLock { $0 } }

  /// The certificates that new connections get.
  package var certificates: [TLSServerContext.CertificateFacts] { current.certificates }

  /// Gives new connections another context.
  package func follow(_ next: TLSServerContext) { context.withLock { $0 = next } }
}

/// A handshake that has ended.
package struct TLSHandshake: Equatable, Sendable {
  package static let success = "success"

  /// `success`, `plain_http`, `timeout`, `abandoned`, or the word of a ``TLSFailure``.
  package var result: String
  /// The version, as "1.3"; empty without success.
  package var version = ""
  package var isResumed = false
  /// The time since its first byte.
  package var seconds: Double

  package init(result: String, version: String = "", isResumed: Bool = false, seconds: Double) {
    self.result = result
    self.version = version
    self.isResumed = isResumed
    self.seconds = seconds
  }
}

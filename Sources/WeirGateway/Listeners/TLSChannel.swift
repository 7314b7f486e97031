import Synchronization
import WeirIO
import WeirServer
import WeirTLS

/// The TLS of a listener. New connections get the context of the latest settings, and open ones keep theirs.
final class TLSSource: Sendable {
  private let context: Mutex<TLSServerContext>
  private let observer: @Sendable (TLSHandshake) -> Void

  /// - Parameter observer: Called for each handshake that has ended, on the loop of its connection.
  init(_ context: TLSServerContext, observer: @escaping @Sendable (TLSHandshake) -> Void) {
    self.context = Mutex(context)
    self.observer = observer
  }

  /// The context of new connections.
  var current: TLSServerContext { context.withLock { $0 } }

  /// The certificates that new connections get.
  var certificates: [TLSServerContext.CertificateFacts] { current.certificates }

  /// Gives new connections another context.
  func follow(_ next: TLSServerContext) { context.withLock { $0 = next } }

  /// Makes the channel of a new connection; returns nil without memory.
  var makeChannel: @Sendable () -> (any SecureChannel)? {
    { [self] in
      guard let stream = try? TLSStream(current) else { return nil }
      return TLSChannel(stream, observer)
    }
  }
}

/// A handshake that has ended.
struct TLSHandshake: Equatable {
  static let success = "success"

  /// `success`, `plain_http`, `timeout`, `abandoned`, or the word of a ``TLSFailure``.
  var result: String
  /// The version, as "1.3"; empty without success.
  var version = ""
  var isResumed = false
  /// The time since its first byte.
  var seconds: Double
}

/// A stream of TLS as the channel of a connection.
final class TLSChannel: SecureChannel {
  private let stream: TLSStream
  private let observer: @Sendable (TLSHandshake) -> Void
  private let began = MonotonicTime.now
  private var failure = "internal_failure"
  private var certificateFacts: ClientFacts?

  init(_ stream: TLSStream, _ observer: @escaping @Sendable (TLSHandshake) -> Void) {
    self.stream = stream
    self.observer = observer
  }

  var version: String { stream.version }

  /// Whether only hosts are served that the certificate covers.
  var hasStrictNames: Bool { stream.hasStrictNames }

  /// Whether a host, without port, is one of the certificate that the client was shown.
  func serves(_ host: String) -> Bool { stream.certificateCovers(host: host) }

  /// What the client's certificate says of it. Found once per connection.
  func facts(as forward: ListenerTLS.Forwarding, like others: ClientFacts) -> ClientFacts {
    if let certificateFacts { return certificateFacts }
    let facts = stream.clientCertificate.map { ClientFacts($0, as: forward, like: others) } ?? others
    certificateFacts = facts
    return facts
  }

  var inputSpace: Int { stream.inputSpace }

  func take(_ ciphertext: UnsafeRawBufferPointer) { stream.take(ciphertext) }

  func step() -> SecureChannelState {
    switch stream.step() {
    case .needsInput: return .needsInput
    case .done: return .open
    case .plainHTTP:
      failure = "plain_http"
      return .plainHTTP
    case .failed(let reason):
      failure = reason.label
      return .failed(reason.description)
    }
  }

  func handshakeEnded(_ end: HandshakeEnd) {
    let seconds = MonotonicTime.now.seconds(since: began)
    switch end {
    case .done:
      observer(
        TLSHandshake(
          result: TLSHandshake.success, version: stream.version, isResumed: stream.isResumed, seconds: seconds))
    case .failed: observer(TLSHandshake(result: failure, seconds: seconds))
    case .timedOut: observer(TLSHandshake(result: "timeout", seconds: seconds))
    case .abandoned: observer(TLSHandshake(result: "abandoned", seconds: seconds))
    }
  }

  func read(into target: UnsafeMutableRawBufferPointer) -> SecureChannelRead {
    switch stream.read(into: target) {
    case .bytes(let count): .bytes(count)
    case .needsInput: .needsInput
    case .closed: .closed
    case .failed: .failed
    }
  }

  func write(_ plaintext: UnsafeRawBufferPointer) -> Bool {
    do {
      try stream.write(plaintext)
      return true
    } catch {
      return false
    }
  }

  func closeNotify() { stream.closeNotify() }

  var output: UnsafeRawBufferPointer { stream.output }

  func consumeOutput(_ count: Int) { stream.consumeOutput(count) }
}

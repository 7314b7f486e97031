import WeirIO
package import WeirServer
package import WeirTLS

extension TLSSource {
  /// Makes the channel of a new connection; returns nil without memory.
  package var makeChannel: @Sendable () -> (any SecureChannel)? {
    { [self] in
      guard let stream = try? TLSStream(current) else { return nil }
      return TLSChannel(stream, observer)
    }
  }
}

/// A stream of TLS as the channel of a connection.
package final class TLSChannel: SecureChannel {
  package let stream: TLSStream
  private let observer: @Sendable (TLSHandshake) -> Void
  private let began = MonotonicTime.now
  private var failure = "internal_failure"
  /// An object of the server's own, kept with the connection.
  package var note: AnyObject?

  init(_ stream: TLSStream, _ observer: @escaping @Sendable (TLSHandshake) -> Void) {
    self.stream = stream
    self.observer = observer
  }

  package var inputSpace: Int { stream.inputSpace }

  package func take(_ ciphertext: UnsafeRawBufferPointer) { stream.take(ciphertext) }

  package func step() -> SecureChannelState {
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

  package func handshakeEnded(_ end: HandshakeEnd) {
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

  package func read(into target: UnsafeMutableRawBufferPointer) -> SecureChannelRead {
    switch stream.read(into: target) {
    case .bytes(let count): .bytes(count)
    case .needsInput: .needsInput
    case .closed: .closed
    case .failed: .failed
    }
  }

  package func write(_ plaintext: UnsafeRawBufferPointer) -> Bool {
    do {
      try stream.write(plaintext)
      return true
    } catch {
      return false
    }
  }

  package func closeNotify() { stream.closeNotify() }

  package var output: UnsafeRawBufferPointer { stream.output }

  package func consumeOutput(_ count: Int) { stream.consumeOutput(count) }
}

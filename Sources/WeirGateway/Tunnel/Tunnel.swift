import WeirCurl
import WeirHTTP
import WeirIO
import WeirMetrics
import WeirServer

/// The bytes between a client and an upstream that have switched to another protocol, or to which a client has asked to
/// be connected. It is what is left of a request that has been answered by 101, or by 200 to CONNECT: the exchange with
/// the client, and the transfer that belongs to the upstream. Confined to their loop.
///
/// The exchange and the transfer keep it alive until the tunnel is over.
final class Tunnel {
  private let exchange: Exchange
  private let terms: TunnelTerms
  private let series: TunnelSeries
  /// Called with the outcome, and the seconds that the tunnel took.
  private let onEnd: (TunnelOutcome, Double) -> Void
  private var transfer: (any TransferHandle)?
  private var buffer = TunnelBuffer()
  /// Whether the upstream's side found the buffer empty and waits for bytes.
  private var wantsBytes = false
  /// Whether the client is not read, as the buffer is full.
  private var isFull = false
  private var hasClientEnded = false
  private var isOver = false
  private let began: MonotonicTime
  private var lastBytes: MonotonicTime
  private let timer = LoopTimer()

  /// - Parameter terms: Of which it has taken a place, that it gives back.
  init(
    _ exchange: Exchange, _ terms: TunnelTerms, _ series: TunnelSeries,
    onEnd: @escaping (TunnelOutcome, Double) -> Void
  ) {
    self.exchange = exchange
    self.terms = terms
    self.series = series
    self.onEnd = onEnd
    began = .now
    lastBytes = began
  }

  /// Begins to pass bytes on. The transfer's delegate is this tunnel already.
  func begin(_ transfer: any TransferHandle) {
    self.transfer = transfer
    series.open.increment()
    exchange.onAbort = { [self] in clientLeft() }
    exchange.onWritable = { [self] in self.transfer?.resumeReceiving() }
    exchange.bodyReader = self
    awaitSilence()
  }

  private func awaitSilence() {
    exchange.loop.schedule(timer, at: lastBytes.advanced(bySeconds: terms.rule.idleTimeout), handler: self)
  }

  // MARK: The end

  /// The tunnel is over, and nothing more is heard of the client.
  private func end(_ outcome: TunnelOutcome) {
    guard !isOver else { return }
    isOver = true
    exchange.loop.cancel(timer)
    exchange.forgetCallbacks()
    terms.gate.leave()
    series.open.decrement()
    series.count(outcome)
    onEnd(outcome, MonotonicTime.now.seconds(since: began))
  }

  private func clientLeft() {
    end(exchange.hasClientLeft ? .clientLeft : .closed)
    transfer?.cancel()
  }
}

extension Tunnel: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if now.seconds(since: lastBytes) < terms.rule.idleTimeout { return awaitSilence() }
    end(.idle)
    exchange.close()
    transfer?.cancel()
  }
}

// The client's side.
extension Tunnel: BodyReader {
  func didReceive(_ bytes: UnsafeRawBufferPointer) -> WeirServer.BodyFlow {
    lastBytes = exchange.loop.turnTime
    buffer.append(bytes)
    wakeSender()
    isFull = !buffer.wantsMore
    return isFull ? .pause : .proceed
  }

  func didEnd() {
    hasClientEnded = true
    if exchange.isInputCut { transfer?.omitEndNotice() }
    wakeSender()
  }

  private func wakeSender() {
    guard wantsBytes else { return }
    wantsBytes = false
    transfer?.resumeSending()
  }
}

// The upstream's side.
extension Tunnel: TransferDelegate {
  /// The head has been passed on before.
  func transfer(_ transfer: any TransferHandle, didReceiveHead head: ResponseHead) -> Flow { .stop }

  func transfer(_ transfer: any TransferHandle, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow {
    lastBytes = exchange.loop.turnTime
    series.toClient.increment(by: bytes.count)
    if !exchange.write(bytes) { transfer.pauseReceiving() }
    return .proceed
  }

  func transfer(_ transfer: any TransferHandle, provideBody target: UnsafeMutableRawBufferPointer) -> BodySupply {
    let count = buffer.read(into: target)
    if isFull, buffer.wantsMore {
      isFull = false
      exchange.resumeReading()
    }
    if count > 0 {
      series.toUpstream.increment(by: count)
      return .bytes(count)
    }
    if hasClientEnded { return .end }
    wantsBytes = true
    return .pause
  }

  func transferPeerHasEnded(_ transfer: any TransferHandle) { exchange.end() }

  func transfer(_ transfer: any TransferHandle, didFinish error: TransferError?, report: TransferReport) {
    self.transfer = nil
    if isOver { return }
    if let error {
      // Many servers end TLS without close_notify. What has come goes on, and its end is passed on as it is.
      let isUnproven = error.code == .partialFile
      end(error.kind == .engineClosed ? .closed : isUnproven && hasClientEnded ? .success : .upstreamFailed)
      return isUnproven ? exchange.close(isCut: true) : exchange.abort()
    }
    end(.success)
    // A client that still sends has nobody who would take it.
    if hasClientEnded { exchange.end() } else { exchange.close() }
  }
}

/// The bytes of a client that its upstream has not taken. A value.
///
/// It keeps no memory while it is empty, as most tunnels are idle most of the time.
struct TunnelBuffer {
  /// The bytes from which on the client is not read.
  static let limit = 64 << 10

  private var bytes: [UInt8] = []
  private var taken = 0

  var count: Int { bytes.count - taken }

  /// Whether more should be read from the client.
  var wantsMore: Bool { count < Self.limit }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: more)
  }

  /// Moves the first bytes to `target`, and returns their number.
  mutating func read(into target: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(target.count, self.count)
    guard count > 0 else { return 0 }
    bytes.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[taken..<taken + count])) }
    taken += count
    if taken == bytes.count {
      (bytes, taken) = ([], 0)
    } else if taken >= Self.limit {
      bytes.removeFirst(taken)
      taken = 0
    }
    return count
  }
}

/// A route's rule about tunnels, with the gate that counts them.
struct TunnelTerms: Sendable {
  let rule: TunnelRule
  let gate: Gate
}

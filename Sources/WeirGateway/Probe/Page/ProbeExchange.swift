import WeirCompression
import WeirCurl
import WeirHTTP
import WeirIO
import WeirTransport

/// One request of a probe and the response to it: a hop. Confined to the loop.
///
/// A small body may decode to a large one, so each turn of the loop, which has other probes too, decodes only its share
/// of one.
final class ProbeExchange {
  /// The most octets of a body that regular expressions see.
  static let matchedOctets = 1 << 20

  /// The outcome of an exchange.
  struct Outcome {
    /// Nil if no response came.
    var head: ResponseHead?
    var report: TransferReport
    /// The reason why no whole response came.
    var failure: String?
    var body = ProbeBody()
  }

  private let loop: EventLoop
  private let engines: Engines
  private let wantsBody: (ResponseHead) -> Bool
  private var body: ProbeBodyReader
  private var transfer: (any TransferHandle)?
  private var head: ResponseHead?
  private var isWanted = false
  private var timeIsOver = false
  /// The transfer's end, while bytes of the body wait to be decoded.
  private var ending: (error: TransferError?, report: TransferReport)?
  private let turnTimer = LoopTimer()
  /// Nil once the exchange has ended.
  private var onEnd: ((Outcome) -> Void)?

  /// Begins the exchange.
  ///
  /// - Parameters:
  ///   - wantsBody: Whether the response is the last one. Otherwise the exchange ends with the head.
  ///   - onEnd: Hears the outcome, never from within this call.
  init(
    _ spec: TransferSpec, _ headers: PreparedHeaders, _ module: ProbeModule, by engines: Engines, on loop: EventLoop,
    wantsBody: @escaping (ResponseHead) -> Bool, onEnd: @escaping (Outcome) -> Void
  ) {
    self.loop = loop
    self.engines = engines
    self.wantsBody = wantsBody
    self.onEnd = onEnd
    body = ProbeBodyReader(module)
    transfer = engines.start(spec, headers: headers, delegate: self)
  }

  /// Ends the exchange, since the probe's time is over.
  func timeOut() {
    timeIsOver = true
    transfer?.cancel()
    if ending != nil { conclude() }
  }
}

extension ProbeExchange: TransferDelegate {
  func transfer(_ transfer: any TransferHandle, didReceiveHead head: ResponseHead) -> Flow {
    self.head = head
    isWanted = wantsBody(head)
    return isWanted ? .proceed : .stop
  }

  func transfer(_ transfer: any TransferHandle, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow {
    guard body.take(bytes) else { return .stop }
    if body.hasPending {
      transfer.pauseReceiving()
      loop.schedule(turnTimer, at: .now, handler: self)
    }
    return .proceed
  }

  func transfer(_ transfer: any TransferHandle, didFinish error: TransferError?, report: TransferReport) {
    self.transfer = nil
    ending = (error, report)
    if timeIsOver || !body.hasPending { conclude() }
  }

  /// The transfer has ended, and the body is decoded or not wanted any more.
  private func conclude() {
    guard let (error, report) = ending else { return }
    ending = nil
    loop.cancel(turnTimer)
    var outcome = Outcome(head: head, report: report)
    if head == nil {
      outcome.failure = timeIsOver ? Self.timeout : error?.description ?? "there was no response"
    } else if isWanted {
      if body.body.failure == nil {
        if timeIsOver, error != nil || body.hasPending {
          body.body.failure = Self.timeout
        } else if let error {
          body.body.failure = error.description
        }
      }
      body.end()
      outcome.body = body.body
    }
    let tell = onEnd
    onEnd = nil
    // The engines are of use for this one exchange, so that no connection is used again.
    engines.close()
    tell?(outcome)
  }

  static let timeout = "the time of the probe is over"
}

extension ProbeExchange: TimerHandler {
  /// The next share of the body is decoded.
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    let isWanted = body.decodeMore()
    if body.hasPending {
      loop.schedule(turnTimer, at: .now, handler: self)
    } else if ending != nil {
      conclude()
    } else if isWanted {
      transfer?.resumeReceiving()
    } else {
      transfer?.cancel()
    }
  }
}

/// The body of a probe's response, decoded.
struct ProbeBody: Sendable {
  /// The first octets, for regular expressions.
  var start: [UInt8] = []
  var count: Int64 = 0
  /// The reason why it could not be read to its end.
  var failure: String?
  /// Whether it is not of the coding that the module names, so that none of it could be read.
  var isNotDecodable = false
}

/// Reads a body, decodes it if the module says so, and counts it.
struct ProbeBodyReader {
  /// The most bytes that are decoded, and the most that they are decoded from, in one turn of the loop.
  private static let bytesPerTurn = 64 << 10

  private(set) var decoder: ContentDecoder?
  private let isGzip: Bool
  private let limit: Int64
  private let keeps: Bool
  /// Whether there was an octet of the body, coded.
  private var hasBegun = false
  var body = ProbeBody()

  init(_ module: ProbeModule) {
    limit = module.bodyLimit ?? .max
    keeps = !module.bodyMustMatch.isEmpty || !module.bodyMustNotMatch.isEmpty
    isGzip = module.compression == .gzip
    // One octet more than there may be, so that the limit shows as passed.
    let limits = DecodeLimits(size: module.bodyLimit.map { $0 < .max ? $0 + 1 : $0 }, ratio: 1000)
    do {
      switch module.compression {
      case .gzip: decoder = try ContentDecoder([.gzip], limits: limits)
      case .deflate: decoder = try ContentDecoder([.deflate], limits: limits)
      case nil: break
      }
    } catch {
      body.failure = error.description
    }
  }

  /// Whether bytes wait for `decodeMore`.
  var hasPending: Bool { body.failure == nil && decoder?.hasPending == true }

  /// Takes bytes, and decodes a turn's share of them. Returns false if no more is wanted.
  mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard body.failure == nil else { return false }
    if !bytes.isEmpty { hasBegun = true }
    guard let decoder else {
      add(bytes)
      return body.failure == nil
    }
    decode { (sink) throws(CompressionError) in try decoder.feed(bytes, budget: Self.bytesPerTurn, into: sink) }
    return body.failure == nil
  }

  /// Decodes another turn's share of the bytes that wait. Returns false if no more is wanted.
  mutating func decodeMore() -> Bool {
    if let decoder, hasPending {
      decode { (sink) throws(CompressionError) in try decoder.step(budget: Self.bytesPerTurn, into: sink) }
    }
    return body.failure == nil
  }

  /// The body has ended. One without an octet is not of the coding that the module names, as for blackbox_exporter.
  mutating func end() {
    guard body.failure == nil, let decoder else { return }
    guard hasBegun else {
      body.failure = "the body is empty"
      body.isNotDecodable = isGzip
      return
    }
    decode { (_) throws(CompressionError) in try decoder.finish() }
  }

  private mutating func decode(
    _ step: ((UnsafeRawBufferPointer) -> Void) throws(CompressionError) -> Void
  ) {
    do throws(CompressionError) {
      try step { add($0) }
    } catch {
      guard body.failure == nil else { return }
      body.failure = error.description
      body.isNotDecodable = isGzip && body.count == 0
    }
  }

  private mutating func add(_ bytes: UnsafeRawBufferPointer) {
    let taken = bytes.prefix(Int(clamping: limit - body.count))
    body.count += Int64(taken.count)
    if keeps, body.start.count < ProbeExchange.matchedOctets {
      body.start.append(contentsOf: taken.prefix(ProbeExchange.matchedOctets - body.start.count))
    }
    if taken.count < bytes.count { body.failure = "the body is longer than body_size_limit, \(limit) bytes" }
  }
}

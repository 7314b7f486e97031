import Synchronization
import WeirCurl
import WeirHTTP
import WeirIO
import WeirTransport

/// What a delegate saw of one transfer.
struct Outcome: Sendable {
  var heads: [ResponseHead] = []
  var body: [UInt8] = []
  var bodyCalls = 0
  var sent: [Int64] = []
  var rewinds = 0
  var error: TransferError?
  var report: TransferReport?
  var finishes = 0
  /// How often the peer has ended its side of a tunnel first.
  var peerEnds = 0

  var head: ResponseHead? { heads.first }
  var text: String { String(decoding: body, as: UTF8.self) }
}

extension ResponseHead {
  var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// A delegate that writes everything down and asks hooks what to answer. Lives on the loop.
final class Recorder: TransferDelegate {
  var outcome = Outcome()
  /// Whether the body is written down as well, which takes memory and time.
  var keepsBody = true
  var onHead: ((any TransferHandle, ResponseHead) -> Flow)?
  var onBody: ((any TransferHandle, UnsafeRawBufferPointer) -> Flow)?
  var onProvide: ((any TransferHandle, UnsafeMutableRawBufferPointer) -> BodySupply)?
  var onRewind: (() -> Bool)?
  var onSent: ((any TransferHandle) -> Void)?
  var onPeerEnd: ((any TransferHandle) -> Void)?
  var onFinish: ((any TransferHandle) -> Void)?
  /// Bytes to provide, and how far that has come.
  var source: [UInt8] = []
  var position = 0
  fileprivate let finished: (Outcome) -> Void

  init(finished: @escaping (Outcome) -> Void) {
    self.finished = finished
  }

  func transfer(_ transfer: any TransferHandle, didReceiveHead head: ResponseHead) -> Flow {
    outcome.heads.append(head)
    return onHead?(transfer, head) ?? .proceed
  }

  func transfer(_ transfer: any TransferHandle, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow {
    outcome.bodyCalls += 1
    let flow = onBody?(transfer, bytes) ?? .proceed
    if case .proceed = flow, keepsBody { outcome.body += bytes }
    return flow
  }

  func transfer(_ transfer: any TransferHandle, provideBody buffer: UnsafeMutableRawBufferPointer) -> BodySupply {
    if let onProvide { return onProvide(transfer, buffer) }
    let count = source.copyBytes(from: position, to: buffer)
    position += count
    return count > 0 ? .bytes(count) : .end
  }

  func transferRewindBody(_ transfer: any TransferHandle) -> Bool {
    outcome.rewinds += 1
    position = 0
    return onRewind?() ?? true
  }

  func transfer(_ transfer: any TransferHandle, didSendBody totalSent: Int64) {
    outcome.sent.append(totalSent)
    onSent?(transfer)
  }

  func transferPeerHasEnded(_ transfer: any TransferHandle) {
    outcome.peerEnds += 1
    onPeerEnd?(transfer)
  }

  func transfer(_ transfer: any TransferHandle, didFinish error: TransferError?, report: TransferReport) {
    outcome.finishes += 1
    outcome.error = error
    outcome.report = report
    onFinish?(transfer)
    finished(outcome)
  }
}

/// A transfer under way, held by a test.
final class Running: Sendable {
  private struct State {
    var outcome: Outcome?
    var waiter: CheckedContinuation<Outcome, Never>?
  }

  private let bound: LoopBound<(transfer: any TransferHandle, recorder: Recorder)?>
  private let state = Mutex(State())

  init(loop: EventLoop) {
    bound = LoopBound(nil, on: loop)
  }

  /// On the loop.
  func start(
    _ spec: TransferSpec, _ headers: PreparedHeaders, _ engine: Engines, _ configure: (Recorder) -> Void
  ) {
    let recorder = Recorder { [self] outcome in settle(outcome) }
    configure(recorder)
    bound.value = (engine.start(spec, headers: headers, delegate: recorder), recorder)
  }

  /// The end of the transfer.
  var outcome: Outcome {
    get async {
      await withCheckedContinuation { continuation in
        let known = state.withLock { state in
          if state.outcome == nil { state.waiter = continuation }
          return state.outcome
        }
        if let known { continuation.resume(returning: known) }
      }
    }
  }

  var isFinished: Bool { state.withLock { $0.outcome != nil } }

  /// What was seen so far.
  func soFar() async -> Outcome { await onTransfer { _, recorder in recorder.outcome } ?? Outcome() }

  /// Cancels the transfer; on the loop.
  func cancelOnLoop() { bound.value?.transfer.cancel() }

  @discardableResult
  func onTransfer<Result: Sendable>(
    _ body: @escaping @Sendable (any TransferHandle, Recorder) -> Result
  ) async -> Result? {
    await withCheckedContinuation { continuation in
      bound.loop.post { [bound] in
        continuation.resume(returning: bound.value.map { body($0.transfer, $0.recorder) })
      }
    }
  }

  private func settle(_ outcome: Outcome) {
    let waiter = state.withLock { state in
      state.outcome = outcome
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume(returning: outcome)
  }
}

import WeirCurl
import WeirIO

/// A connection that is being opened, and the transfer that waits for it. Confined to the loop.
///
/// If another connection becomes idle before, that one serves the transfer, and this one is spare: the next transfer
/// without a connection waits for it in place of opening one more. So there are never more of them than transfers that
/// have waited at once.
final class Opening {
  private let origin: Origin
  private let engine: HTTP1Engine
  private let timeouts: OpeningTimeouts
  @exclusivity(unchecked) var dial: Dial?
  /// Nil while it is spare.
  @exclusivity(unchecked) private var transfer: HTTP1Transfer?
  /// Whether it was begun for another transfer.
  @exclusivity(unchecked) private var isInherited = false

  init(for transfer: HTTP1Transfer) {
    origin = transfer.origin
    engine = transfer.engine
    timeouts = OpeningTimeouts(of: transfer)
    self.transfer = transfer
    origin.uses += 1
  }

  /// Goes on without its transfer.
  func becomeSpare() {
    transfer = nil
    isInherited = true
    origin.spareOpenings.append(self)
  }

  /// The last begun of the spare ones that fail no later than one of the transfer's own would; it serves the transfer
  /// from now on. Nil if there is none.
  static func spare(for transfer: HTTP1Transfer) -> Opening? {
    let timeouts = OpeningTimeouts(of: transfer)
    let spare = transfer.origin.spareOpenings
    guard let index = spare.lastIndex(where: { $0.timeouts.isWithin(timeouts) }) else { return nil }
    let opening = transfer.origin.spareOpenings.remove(at: index)
    opening.transfer = transfer
    return opening
  }

  func cancel() {
    transfer = nil
    dial?.cancel()
  }

  /// The measurements so far.
  func report() -> TransferReport? { dial?.report().map { measured($0) } }

  /// The measurements as far as the transfer has waited.
  private func measured(_ report: TransferReport) -> TransferReport {
    guard isInherited, let transfer else { return report }
    var report = report
    report.phases.keepLast(MonotonicTime.now.seconds(since: transfer.times.start))
    return report
  }

  /// The transfer that has waited, which waits no longer.
  private func end() -> HTTP1Transfer? {
    dial = nil
    origin.uses -= 1
    guard let transfer else {
      origin.spareOpenings.removeAll { $0 === self }
      return nil
    }
    transfer.opening = nil
    return transfer
  }
}

/// How long an opening may take, in seconds.
private struct OpeningTimeouts {
  /// Without a sign of life.
  let silence: Double
  let connect: Double

  init(of transfer: HTTP1Transfer) {
    silence = transfer.spec.silenceTimeout > 0 ? transfer.spec.silenceTimeout : .infinity
    let connect = transfer.spec.rules?.connectTimeout ?? transfer.engine.options.connectTimeout
    self.connect = connect > 0 ? connect : .infinity
  }

  func isWithin(_ other: OpeningTimeouts) -> Bool { silence <= other.silence && connect <= other.connect }
}

extension Opening: DialReceiver {
  func dial(_ dial: Dial, opened stream: SocketStream, _ report: TransferReport) {
    let report = measured(report)
    let transfer = end()
    let connection = engine.add(stream, to: origin)
    guard connection.watch() else {
      engine.drop(connection)
      transfer?.failLater(.cannotWatch)
      return
    }
    guard let transfer, transfer.state == .connecting, transfer.failure == nil else {
      return connection.isUsable ? engine.release(connection) : engine.drop(connection)
    }
    transfer.dialled(report, isOpen: true)
    engine.run(transfer, on: connection)
    origin.forgetServed()
  }

  func dial(_ dial: Dial, failed error: TransferError, _ report: TransferReport) {
    let report = measured(report)
    guard let transfer = end() else { return }
    // Its time may have been nearly over when the transfer came, which gets a time of its own.
    if isInherited, transfer.failure == nil { return engine.dial(for: transfer) }
    transfer.dialled(report, isOpen: false)
    transfer.failLater(error)
  }
}

import WeirCurl
import WeirHTTP
import WeirIO
import WeirTestSupport

/// A delegate that writes down the events of one exchange in their order. Lives on the loop.
///
/// Pieces of the body that follow each other are one event, and so are counts of sent bytes, as an engine may choose
/// their sizes.
final class ExchangeLog: TransferDelegate {
  /// The exchange's lines of the row, and its measurements.
  struct Result: Sendable {
    var lines: [String]
    var report: TransferReport
  }

  private let exchange: EngineExchange
  private let isCut: Bool
  private let source: [UInt8]
  private var position = 0
  private var isPaused = true
  private var lines: [String] = []
  private var body: [UInt8] = []
  private var sent: Int64?
  /// Whether there is a line on sent bytes. Where chance decides how many they are, it also decides whether more follow.
  private var toldOfPart = false
  private var finished: ((Result) -> Void)?

  init(_ exchange: EngineExchange, isCut: Bool, finished: @escaping (Result) -> Void) {
    self.exchange = exchange
    self.isCut = isCut
    self.finished = finished
    if case .pulled(let count, _, _) = exchange.body { source = EngineText.letters(count) } else { source = [] }
  }

  func transfer(_ transfer: any TransferHandle, didReceiveInterim head: ResponseHead) {
    // How much of the request's body has left when a 100 comes is chance.
    if head.status == 100, exchange.body.count > 0 { return }
    write("interim head \(head.status) \(head.version)", head.bytes)
  }

  func transfer(_ transfer: any TransferHandle, didReceiveHead head: ResponseHead) -> Flow {
    write("head \(head.status) \(head.version)", head.bytes)
    isPaused = false
    transfer.resumeSending()
    return .proceed
  }

  func transfer(_ transfer: any TransferHandle, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow {
    body += bytes
    exchange.atBody?.open()
    return .proceed
  }

  func transfer(_ transfer: any TransferHandle, provideBody buffer: UnsafeMutableRawBufferPointer) -> BodySupply {
    guard case .pulled(let count, _, let pause) = exchange.body else { return .failed }
    let end = isPaused ? pause ?? count : count
    let size = min(buffer.count, end - position)
    guard size > 0 || end == count else {
      exchange.atPause?.open()
      return .pause
    }
    guard size > 0 else { return .end }
    _ = source.copyBytes(from: position, to: UnsafeMutableRawBufferPointer(rebasing: buffer[..<size]))
    position += size
    return .bytes(size)
  }

  func transferRewindBody(_ transfer: any TransferHandle) -> Bool {
    write("rewinds the body: \(exchange.canRewind)")
    position = 0
    return exchange.canRewind
  }

  func transfer(_ transfer: any TransferHandle, didSendBody totalSent: Int64) {
    sent = totalSent
  }

  func transferHasSentBody(_ transfer: any TransferHandle) {
    lines.append("the whole body is sent")
  }

  func transfer(_ transfer: any TransferHandle, didFinish error: TransferError?, report: TransferReport) {
    write(error.map { "error \($0.label)\(Self.code($0)): \($0.message)" } ?? "success")
    lines += self.lines(report)
    finished?(Result(lines: lines, report: report))
    finished = nil
  }

  // MARK: Lines

  private func write(_ line: String, _ bytes: [UInt8] = []) {
    if let sent, !isCut || !toldOfPart {
      lines.append("sent \(amount(sent)) of the body")
      toldOfPart = true
    }
    sent = nil
    if !body.isEmpty {
      lines.append("body of \(body.count) bytes")
      lines += EngineText.show(body)
    }
    body = []
    lines.append(line)
    lines += EngineText.show(bytes)
  }

  /// A number of bytes of the request's body.
  private func amount(_ count: Int64) -> String {
    guard isCut else { return "\(count) bytes" }
    return count == 0 ? "nothing" : "some bytes"
  }

  /// libcurl's code for an error that has a label of its own.
  private static func code(_ error: TransferError) -> String {
    error.code == .ok || error.code.label == error.label ? "" : " (\(error.code.label))"
  }

  private func lines(_ report: TransferReport) -> [String] {
    [
      "sent head \(headAmount(report.headerBytesSent)), body \(amount(report.bytesSent)); "
        + "received heads \(report.headerBytes), body \(report.bytesReceivedOnWire)",
      "version \(report.version.map { "\($0)" } ?? "none"); remote address \(Self.address(report)); "
        + "\(report.isReusedConnection ? "reused connection" : "opened \(report.connectionsOpened)"); "
        + "stale retries \(report.staleRetries)",
    ]
  }

  /// libcurl 8.14.1 counts the body with the head where it sends both at once.
  private func headAmount(_ count: Int64) -> String {
    isCut && count > 1000 ? "with some of the body" : "\(count) bytes"
  }

  private static func address(_ report: TransferReport) -> String {
    guard let address = report.remoteAddress else { return "none" }
    // The path of a Unix socket differs from run to run.
    return address.contains("/") ? "a path" : "\(address):\(report.remotePort ?? 0)"
  }
}

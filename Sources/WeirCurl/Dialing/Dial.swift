internal import CCurl
package import WeirHTTP
internal import WeirIO

/// Hears how an attempt to open a connection ended, on the loop and never from within the call that started it.
package protocol DialReceiver: AnyObject {
  /// The connection is established and belongs to the receiver, which has to close it.
  func dial(_ dial: Dial, opened stream: SocketStream, _ report: TransferReport)
  func dial(_ dial: Dial, failed error: TransferError, _ report: TransferReport)
}

/// An attempt to open a connection for HTTP/1.1: name lookup, TCP or a proxy's tunnel, and TLS. libcurl does all of it,
/// under the same limits and policies as for its own transfers. Confined to the loop.
///
/// For a proxy that gets addresses, and with a policy about them, there are two steps: a transfer of libcurl's that only looks
/// the name up, and one that connects to the first of the addresses that the policy allows.
package final class Dial {
  private let receiver: any DialReceiver
  /// libcurl's part; nil once it has ended.
  fileprivate var attempt: Transfer?
  /// Whether the first step is under way.
  private(set) var isLookup = false
  /// The addresses that it has found.
  private var addresses: [String] = []
  private var lookup: TransferReport?
  /// The new connection, until the receiver hears of it.
  fileprivate var stream: SocketStream?

  fileprivate init(_ receiver: any DialReceiver) {
    self.receiver = receiver
  }

  /// Ends the attempt; the receiver hears `.cancelled` by the end of this turn.
  package func cancel() { attempt?.cancel() }

  /// The measurements so far; nil once the receiver has heard the end.
  package func report() -> TransferReport? { attempt.map { measured($0.report()) } }

  /// The measurements of both steps.
  private func measured(_ report: TransferReport) -> TransferReport {
    guard let lookup else { return report }
    var report = report
    report.phases[.resolve] = (lookup.phases[.resolve] ?? 0) + (report.phases[.resolve] ?? 0)
    report.startTime = lookup.startTime
    report.total += lookup.total
    return report
  }

  /// libcurl has an address of the server's name that the policy allows.
  func found(_ address: SocketAddress) {
    if let address = IPAddress(address) { addresses.append("\(address)") }
  }

  fileprivate func begin(_ spec: TransferSpec, by engine: TransferEngine) {
    let proxy = engine.proxy(of: spec)
    let host = spec.endpoint?.host?[...] ?? HostName.host(ofURL: spec.url)
    isLookup = lookup == nil && proxy?.kind == .socks5 && spec.addressPolicy != nil && IPAddress(host: host) == nil
    let transfer = Transfer(
      spec: spec, headers: engine.noHeaders, delegate: self, engine: engine, through: isLookup ? nil : proxy)
    transfer.dialled = self
    attempt = transfer
    engine.begin(transfer)
  }

  /// Connects to the first address that was found; false if there is none.
  private func connects(after transfer: Transfer, _ report: TransferReport) -> Bool {
    guard isLookup, let address = addresses.first, transfer.failure == nil else { return false }
    lookup = report
    var spec = transfer.spec
    var port = HostName.port(ofURL: spec.url)
    if case .host(_, let own)? = spec.endpoint?.place { port = own }
    spec.endpoint = TransferEndpoint(.host(address, port: port))
    begin(spec, by: transfer.engine)
    return true
  }
}

extension Dial: TransferDelegate {
  package func transfer(_ transfer: any TransferHandle, didReceiveHead head: ResponseHead) -> Flow { .stop }

  package func transfer(_ transfer: any TransferHandle, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow { .stop }

  package func transfer(_ transfer: any TransferHandle, didFinish error: TransferError?, report: TransferReport) {
    let ended = attempt
    attempt = nil
    if let ended, connects(after: ended, report) { return }
    let report = measured(report)
    if let stream, error == nil {
      self.stream = nil
      return receiver.dial(self, opened: stream, report)
    }
    stream?.close()
    stream = nil
    receiver.dial(self, failed: error ?? TransferError(.engineFailed, message: Self.lost), report)
  }

  fileprivate static let lost = "libcurl opened a connection and does not say which"
}

extension TransferEngine {
  /// Opens a connection for the request `spec`, by its URL, trust, address policy, silence timeout and tag.
  func dial(_ spec: TransferSpec, receiver: any DialReceiver) -> Dial {
    loop.preconditionCurrent()
    var spec = spec
    spec.target = nil
    spec.method = "GET"
    spec.body = .none
    let dial = Dial(receiver)
    dial.begin(spec, by: self)
    return dial
  }

  /// Takes over the connection that libcurl has opened, and ends the transfer.
  func finishDial(_ dial: Dial, _ transfer: Transfer) {
    transfer.heldReport = transfer.report()
    dial.stream = takeConnection(of: transfer)
    finish(transfer, error: dial.stream == nil ? TransferError(.engineFailed, message: Dial.lost) : nil)
  }

  private func takeConnection(of transfer: Transfer) -> SocketStream? {
    guard let handle = transfer.handle else { return nil }
    let fd = weir_easy_active_socket(handle.easy)
    guard fd >= 0, sockets.isOwn(fd) else { return nil }
    let stream = SocketStream(
      fd, engine: self, tag: transfer.spec.tag, address: transfer.remoteAddress, port: Int(transfer.remotePort))
    if transfer.handshakesToServer > 0 {
      guard let connection = transfer.secureConnection else { return nil }
      stream.secure = TLSStream(handle, connection, isNested: transfer.isNested)
      detach(fd)
      pin(stream, from: transfer)
    } else {
      detach(fd)
      // libcurl closes a connection of this kind with its handle, but leaves the descriptor to us.
      keptOpen = fd
      release(transfer)
      keptOpen = -1
    }
    return stream
  }

  /// The descriptor is no longer libcurl's business.
  private func detach(_ fd: CInt) {
    watch.closes(fd)
    if let closed = sockets.close(fd), closed.wasRegistered { loop.unregister(fd) }
  }
}

/// Opens connections for HTTP/1.1 by libcurl. Confined to the loop.
///
/// A TLS connection stays in its multi handle, and each call that sends or receives on it walks all connections of
/// that handle. So each multi handle gets a few only, and further engines are made when they are needed.
package final class Dialler {
  static let mostInOneMulti = 64

  /// The engine that also runs libcurl's own transfers.
  package let main: TransferEngine
  @exclusivity(unchecked) private(set) var others: [TransferEngine] = []

  package init(_ main: TransferEngine) {
    self.main = main
  }

  /// Whether libcurl is being called, so that no connection may be used or closed.
  package var isEntered: Bool { main.isInside || others.contains(where: \.isInside) }

  /// Opens a connection for the request `spec`, by its URL, trust, address policy, silence timeout and tag.
  package func dial(_ spec: TransferSpec, receiver: any DialReceiver) -> Dial {
    let isSecure = Scheme(url: spec.url) == .https || main.proxy(of: spec)?.kind == .https
    let engine = isSecure ? engineWithRoom() : main
    return engine.dial(spec, receiver: receiver)
  }

  private func engineWithRoom() -> TransferEngine {
    if main.hasRoom { return main }
    if let engine = others.first(where: \.hasRoom) { return engine }
    // Without memory for another one, the first gets slower.
    guard !main.isClosed, let made = try? TransferEngine(sharingWith: main) else { return main }
    others.append(made)
    return made
  }

  /// Closes the engines; at the end of a turn only. Delegates and the observer hear all of it from within.
  package func close() {
    for engine in [main] + others {
      engine.close()
      engine.shutDown()
    }
  }
}

extension TransferEngine {
  fileprivate var hasRoom: Bool { pinned.count + transfers.count < Dialler.mostInOneMulti }
}

internal import CCurl
package import WeirHTTP
internal import WeirIO

/// Hears how an attempt to open a connection ended, on the loop and never from within the call that started it.
package protocol DialReceiver: AnyObject {
  /// The connection is established and belongs to the receiver, which has to close it.
  func dial(_ dial: Dial, opened wire: Wire, _ report: TransferReport)
  func dial(_ dial: Dial, failed error: TransferError, _ report: TransferReport)
}

/// An attempt to open a connection for HTTP/1.1: name lookup, TCP or a proxy's tunnel, and TLS. libcurl does all of it,
/// under the same limits and policies as for its own transfers. Confined to the loop.
package final class Dial {
  private let receiver: any DialReceiver
  /// libcurl's part; nil once it has ended.
  fileprivate var attempt: Transfer?
  /// The new connection, until the receiver hears of it.
  fileprivate var wire: Wire?

  fileprivate init(_ receiver: any DialReceiver) {
    self.receiver = receiver
  }

  /// Ends the attempt; the receiver hears `.cancelled` by the end of this turn.
  package func cancel() { attempt?.cancel() }

  /// The measurements so far; nil once the receiver has heard the end.
  package func report() -> TransferReport? { attempt?.report() }
}

extension Dial: TransferDelegate {
  package func transfer(_ transfer: any TransferHandle, didReceiveHead head: ResponseHead) -> Flow { .stop }

  package func transfer(_ transfer: any TransferHandle, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow { .stop }

  package func transfer(_ transfer: any TransferHandle, didFinish error: TransferError?, report: TransferReport) {
    attempt = nil
    if let wire, error == nil {
      self.wire = nil
      return receiver.dial(self, opened: wire, report)
    }
    wire?.close()
    wire = nil
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
    let transfer = Transfer(spec: spec, headers: noHeaders, delegate: dial, engine: self)
    transfer.dialled = dial
    dial.attempt = transfer
    begin(transfer)
    return dial
  }

  /// Takes over the connection that libcurl has opened, and ends the transfer.
  func finishDial(_ dial: Dial, _ transfer: Transfer) {
    transfer.heldReport = transfer.report()
    dial.wire = takeConnection(of: transfer)
    let isLost = dial.wire == nil
    finish(transfer, error: isLost ? TransferError(.engineFailed, message: Dial.lost) : nil)
  }

  private func takeConnection(of transfer: Transfer) -> Wire? {
    guard let handle = transfer.handle else { return nil }
    let fd = weir_easy_active_socket(handle.easy)
    guard fd >= 0, sockets.isOwn(fd) else { return nil }
    let wire = Wire(
      fd, engine: self, tag: transfer.spec.tag, address: transfer.remoteAddress, port: Int(transfer.remotePort))
    if Scheme(url: transfer.spec.url) == .https {
      guard let connection = transfer.secureConnection else { return nil }
      wire.secure = SecureWire(handle, connection)
      detach(fd)
      pin(wire, from: transfer)
    } else {
      detach(fd)
      // libcurl closes a connection of this kind with its handle, but leaves the descriptor to us.
      keptOpen = fd
      release(transfer)
      keptOpen = -1
    }
    return wire
  }

  /// The descriptor is no longer libcurl's business.
  private func detach(_ fd: CInt) {
    watch.closes(fd)
    if let closed = sockets.close(fd), closed.wasRegistered { loop.unregister(fd) }
  }
}

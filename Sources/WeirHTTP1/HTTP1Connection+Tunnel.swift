import WeirCurl
import WeirHTTP

// A connection whose server has switched to another protocol (RFC 9110 §7.8). The response's body is what the server
// sends until it ends its side. The request's body, which begins then, is what the delegate sends until it ends ours.
extension HTTP1Connection {
  /// Takes the head of a response 101. False if the server may not switch to the protocol that it names.
  func beginTunnel(_ head: ResponseHead, _ transfer: HTTP1Transfer) -> Bool {
    guard Self.isListed(head.values(ofField: "Upgrade"), in: transfer.spec.upgrade ?? "") else {
      transfer.fail(TransferError(ResponseDefect.malformedHead(.switchedProtocol)))
      transfer.end()
      return false
    }
    isSpoilt = true
    transfer.upload = .raw
    engine.need(.send, for: transfer)
    return true
  }

  /// Whether the fields name a protocol, and none that was not asked for.
  private static func isListed(_ values: [String], in asked: String) -> Bool {
    var names = 0
    let areListed = values.allSatisfy { value in
      value.withOctets { value in
        value.listElements.allSatisfy { name in
          if name.isEmpty { return true }
          names += 1
          return asked.withOctets { $0.listElements.contains { $0.equalsIgnoringCase(name) } }
        }
      }
    }
    return areListed && names > 0
  }

  /// Whether the server has ended its side of a tunnel, and ours has not ended. Nothing is read any more.
  func isHalfTunnel(_ transfer: HTTP1Transfer) -> Bool {
    hasResponded && transfer.hasSwitched && !(transfer.upload.isOver && output.isEmpty)
  }

  func peerHasEnded(_ transfer: HTTP1Transfer) {
    ignore()
    transfer.delegate?.transferPeerHasEnded(transfer)
  }

  /// Our side has ended, and all its bytes are sent.
  func endTunnelSending(_ transfer: HTTP1Transfer) {
    guard transfer.upload.isComplete, !transfer.upload.isAbandoned, !transfer.upload.isShutDown else { return }
    transfer.upload.isShutDown = true
    if transfer.upload.omitsEndNotice { stream.shutdownSending() } else { stream.endSending() }
  }
}

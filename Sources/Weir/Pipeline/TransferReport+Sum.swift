import WeirCurl

extension TransferReport {
  /// Takes in a further hop of the same attempt.
  mutating func add(_ hop: TransferReport) {
    resolve = Self.sum(resolve, hop.resolve)
    connect = Self.sum(connect, hop.connect)
    tls = Self.sum(tls, hop.tls)
    send = Self.sum(send, hop.send)
    processing = Self.sum(processing, hop.processing)
    transfer = Self.sum(transfer, hop.transfer)
    total += hop.total
    bytesSent += hop.bytesSent
    headerBytesSent += hop.headerBytesSent
    bytesReceivedOnWire += hop.bytesReceivedOnWire
    headerBytes += hop.headerBytes
    isReusedConnection = isReusedConnection && hop.isReusedConnection
    connectionsOpened += hop.connectionsOpened
    staleRetries += hop.staleRetries
    remoteAddress = hop.remoteAddress
    remotePort = hop.remotePort
    version = hop.version
  }

  private static func sum(_ left: Double?, _ right: Double?) -> Double? {
    guard let left else { return right }
    return left + (right ?? 0)
  }
}

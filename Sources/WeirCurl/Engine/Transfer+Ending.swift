internal import CCurl
import WeirHTTP
internal import WeirIO

extension Transfer {
  /// The error of the transfer's end; nil for success.
  func error(for result: CurlCode) -> TransferError? {
    if let failure { return proxyFailure(failure) ?? failure }
    if let verdict { return proxyFailure(verdict) ?? verdict }
    if result == .ok { return defect() }
    if let error = refusalOfAll(result) ?? shortage(result) { return error }
    // libcurl has no code for a header line beyond its own limit: only its buffer fails to grow.
    if result == .outOfMemory || result == .tooLarge, receiving.headerBytes > 0, receiving.phase == .head {
      return .headTooLarge
    }
    // The head begins with a blank, or has a line without a colon.
    if result == .badFunctionArgument, receiving.phase == .head { return .malformedHead }
    // libcurl does not decode Content-Encoding here, so the code is about Transfer-Encoding; newer versions refuse some
    // codings.
    if result == .badContentEncoding, receiving.phase == .head { return TransferError(.refusedTransferEncoding) }
    if engine.watch.hasCut(awaitedSocket) {
      return TransferError(
        .curl, code: result, message: "the server kept sending data that belongs to no response")
    }
    let error = curlError(result)
    return proxyFailure(error) ?? error
  }

  func curlError(_ result: CurlCode) -> TransferError {
    let osErrno = handle.map { Int32(truncatingIfNeeded: weir_easy_get_long($0.easy, CURLINFO_OS_ERRNO)) } ?? 0
    return TransferError(
      .curl, code: result, message: text(of: result), osErrno: osErrno, certificateDefect: certificateDefect(result))
  }

  private func certificateDefect(_ result: CurlCode) -> CertificateDefect? {
    guard result == .peerFailedVerification, let handle else { return nil }
    return CertificateDefect(
      verifyResult: weir_easy_get_long(
        handle.easy, hasTunnel ? CURLINFO_SSL_VERIFYRESULT : CURLINFO_PROXY_SSL_VERIFYRESULT),
      isOpenSSL: CurlLibrary.usesOpenSSL)
  }

  /// The measurements of the attempt so far; read before the handle goes back.
  package func report() -> TransferReport {
    let end = MonotonicTime.now
    var report = TransferReport(startTime: clock.start, total: end.seconds(since: clock.start))
    report.bytesReceivedOnWire = receiving.bodyBytes
    report.headerBytes = receiving.headerBytes
    report.version = receiving.version
    report.staleRetries = repeats.staleRetries
    report.remoteAddress = remoteAddress
    report.remotePort = remoteAddress == nil ? nil : Int(remotePort)
    report.peer = peer
    if let easy = handle?.easy {
      report.headerBytesSent = Int64(weir_easy_get_long(easy, CURLINFO_REQUEST_SIZE))
      report.bytesSent = uploaded
      report.connectionsOpened = weir_easy_get_long(easy, CURLINFO_NUM_CONNECTS)
      report.isReusedConnection = report.connectionsOpened == 0 && repeats.requests > 0
      readConnection(easy, to: end, &report)
    }
    var times = clock
    // A request without a body, or with one that libcurl sends together with the head, is sent as soon as it begins.
    if sending.isEmpty || sending.isInline { times.sent = times.sent ?? times.ready }
    times.add(to: &report.phases, until: end)
    return report
  }

  /// The phases of making a connection. A phase that was under way when the transfer ended counts up to that end, as it
  /// shows where the time went.
  private func readConnection(_ easy: UnsafeMutableRawPointer, to end: MonotonicTime, _ report: inout TransferReport) {
    // The times of a reused connection would be 0, though the lookup took time.
    if lookup == .waiting {
      report.phases[.resolve] = end.seconds(since: clock.start)
      return
    }
    guard report.connectionsOpened > 0 || !connecting.isEmpty || lookup == .running || lookup == .failed else {
      if restarted > 0 { report.phases[.resolve] = restarted }
      return
    }
    let lookup = time(CURLINFO_NAMELOOKUP_TIME_T, easy)
    let connect = time(CURLINFO_CONNECT_TIME_T, easy)
    let handshake = time(CURLINFO_APPCONNECT_TIME_T, easy)
    let cutOff = clock.ready == nil ? Int64(end.seconds(since: clock.start) * 1e6) : 0
    report.phases[.resolve] = phase(from: 0, to: lookup, cutOff)
    // Some versions report the time of TCP only after the handshake or the tunnel.
    let known = connected.map(microseconds) ?? 0
    let established = connect > 0 && (proxy == nil || known == 0) ? connect : known
    if lookup > 0 { report.phases[.connect] = phase(from: lookup, to: established, cutOff) }
    guard established > 0 else { return }
    let isSecure = Scheme(url: spec.url) == .https
    guard proxy != nil else {
      report.phases[.tls] = phase(from: established, to: handshake, isSecure ? cutOff : 0)
      return
    }
    // A proxy that takes the request itself has no tunnel, but perhaps TLS.
    if isTakenByProxy {
      if handshakesToServer > 0 {
        report.phases[.tls] = phase(from: established, to: clock.ready.map(microseconds) ?? 0, cutOff)
      }
      return
    }
    let made = tunnelMade.map(microseconds) ?? 0
    report.phases[.tunnel] = phase(from: established, to: made, cutOff)
    if made > 0 { report.phases[.tls] = phase(from: made, to: isSecure ? handshake : 0, isSecure ? cutOff : 0) }
  }

  private func microseconds(_ time: MonotonicTime) -> Int64 { Int64(time.seconds(since: clock.start) * 1e6) }

  /// One of libcurl's times, in microseconds since the transfer's start. libcurl counts from its own last start.
  private func time(_ info: CURLINFO, _ easy: UnsafeMutableRawPointer) -> Int64 {
    let time = weir_easy_get_offset(easy, info)
    return time > 0 ? time + Int64(restarted * 1e6) : time
  }

  /// Seconds between two of libcurl's times, which are in microseconds; 0 means that a time was not reached.
  private func phase(from start: Int64, to end: Int64, _ cutOff: Int64) -> Double? {
    let end = end > 0 ? end : cutOff
    return end > 0 ? Double(max(0, end - start)) * 1e-6 : nil
  }

  /// The error of an end that libcurl wrongly reports as a success; else nil.
  private func defect() -> TransferError? {
    guard let version = receiving.version else {
      return TransferError(.curl, code: .partialFile, message: "the connection ended before the response head did")
    }
    // Below 8.1 libcurl may report a truncated HTTP/2 body as complete.
    guard version.major >= 2, let expected = receiving.framing.contentLength, expected != receiving.bodyBytes,
      spec.method != "HEAD", receiving.status != 304, receiving.status != 204
    else { return nil }
    return TransferError(
      .lengthMismatch, code: .partialFile, message: "\(receiving.bodyBytes) of \(expected) bytes of the body came")
  }

  private func text(of result: CurlCode) -> String {
    if let handle, handle.errorText[0] != 0 { return CurlText.sanitized(String(cString: handle.errorText)) }
    return String(cString: curl_easy_strerror(CURLcode(rawValue: result.rawValue)))
  }
}

/// Errors of this engine's own, besides those that both engines have.
extension TransferError {
  static let headTooLarge = TransferError(
    .headTooLarge, message: "the response head exceeds maximumHeaderSize, or a line of it 100 KiB")
  static let malformedHead = TransferError(.malformedHead, message: "the response head is malformed")
  static let invalidStatusLine = TransferError(
    .malformedHead,
    message: "the response begins with an invalid status line, or with that of another HTTP version")
  static let unprovableEnd = TransferError(
    .unprovableEnd,
    message:
      "only the end of the TLS connection would end the response, and libcurl \(CurlLibrary.version) can't tell that from "
      + "a cut: let the server send Content-Length or chunks, or use libcurl 8.14.1 or newer")
}

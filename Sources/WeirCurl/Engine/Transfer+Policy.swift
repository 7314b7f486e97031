internal import CCurl
internal import Glibc
internal import WeirIO

// Which addresses a transfer may be connected to. What counts is the address that a socket is opened for, whatever a URL
// or a name server says; that of a pooled connection, which another transfer's policy let through, is looked at again.
extension Transfer {
  /// Why the URL names an address that may not be requested, in whatever spelling libcurl takes for one.
  func refusalOfLiteral() -> TransferError? {
    guard let policy = spec.addressPolicy, engine.prepared.unixSocketPath == nil,
      let host = CurlURL.host(of: spec.url), let refusal = policy.refusal(ofHost: host)
    else { return nil }
    return TransferError(.addressRefused, message: refusal)
  }

  /// Whether a socket may be opened for the address; notes why not.
  func mayOpen(_ address: @autoclosure () -> SocketAddress) -> Bool {
    guard let policy = spec.addressPolicy, engine.prepared.connectsToTargets else { return true }
    let refusal =
      IPAddress(address()).map { policy.refusal(of: $0) }
      ?? "destinationPolicy refuses what is no address of the internet"
    if let refusal { dial.refusal = refusal }
    return refusal == nil
  }

  /// Whether the request may go out on a connection that others have made. If not, libcurl closes it, and the transfer
  /// begins again on one of its own.
  func mayUse(pooled address: UnsafePointer<CChar>?) -> Bool {
    guard let policy = spec.addressPolicy, engine.prepared.connectsToTargets else { return true }
    dial.avoidsPool =
      address.flatMap { IPAddress(host: String(cString: $0)) }.map { policy.refusal(of: $0) != nil } ?? true
    return !dial.avoidsPool
  }

  /// The policy's reason, if it left nothing to connect to: where there was another address, its failure is what counts.
  func refusalOfAll(_ result: CurlCode) -> TransferError? {
    guard let refusal = dial.refusal, !dial.hasTried else { return nil }
    return TransferError(.addressRefused, code: result, message: refusal)
  }

  /// That there was no socket for the last of the addresses.
  func shortage(_ result: CurlCode) -> TransferError? {
    guard result == .couldNotConnect, let errno = dial.shortage else { return nil }
    let text = "no socket could be opened: \(String(cString: strerror(errno)))"
    return TransferError(.noSocket, code: result, message: text, osErrno: errno)
  }
}

/// What came of the addresses for a connection that is being made.
struct DialState {
  /// Why the last one was refused that was.
  var refusal: String?
  /// Whether a socket was to be opened for one.
  var hasTried = false
  /// Why there was no socket for the last one: no descriptors or no memory were left.
  var shortage: CInt?
  /// Whether the pool had a connection to a refused one.
  var avoidsPool = false
}

/// URLs as libcurl reads them.
package enum CurlURL {
  /// The host as libcurl connects to it or names it to a proxy: decoded, addresses in one of its own spellings.
  package static func host(of url: String) -> String? {
    guard let handle = curl_url() else { return nil }
    defer { curl_url_cleanup(handle) }
    guard curl_url_set(handle, CURLUPART_URL, url, UInt32(CURLU_PATH_AS_IS)) == CURLUE_OK else { return nil }
    // Digits and dots of other scripts become those of ASCII. Without that art libcurl uses the name as it is.
    return part(CURLUPART_HOST, of: handle, UInt32(CURLU_PUNYCODE)) ?? part(CURLUPART_HOST, of: handle, 0)
  }

  private static func part(_ part: CURLUPart, of handle: OpaquePointer, _ flags: UInt32) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}

internal import CCurl
internal import Glibc
internal import WeirIO

// The addresses to which a transfer may connect. The policy judges the address for which a socket is opened, whatever a
// URL or a name server says. The address of a pooled connection is judged again, as it was opened under another
// transfer's policy.
extension Transfer {
  /// Why the URL names an address that may not be requested, in any spelling that libcurl accepts; nil if it does not.
  func refusalOfLiteral() -> TransferError? { engine.refusalOfLiteral(spec) }

  /// The policy for addresses; nil if there is none, or no address of the target's is connected to.
  private var policyOfAddresses: AddressPolicy? {
    engine.prepared.connectsToTargets && spec.endpoint?.unixSocketPath == nil ? spec.addressPolicy : nil
  }

  /// Whether a socket may be opened for the address; if not, notes the reason.
  func mayOpen(_ address: @autoclosure () -> SocketAddress) -> Bool {
    guard let policy = policyOfAddresses else { return true }
    let refusal =
      IPAddress(address()).map { policy.refusal(of: $0) }
      ?? "destinationPolicy refuses an address that is neither IPv4 nor IPv6"
    if let refusal { dial.refusal = refusal }
    return refusal == nil
  }

  /// Whether the request may be sent on a pooled connection. If not, libcurl closes that connection, and the transfer
  /// starts again on a new one.
  func mayUse(pooled address: UnsafePointer<CChar>?) -> Bool {
    guard let policy = policyOfAddresses else { return true }
    dial.avoidsPool =
      address.flatMap { IPAddress(host: String(cString: $0)) }.map { policy.refusal(of: $0) != nil } ?? true
    return !dial.avoidsPool
  }

  /// The policy's reason, if it refused every address. If another address was tried, its failure counts.
  func refusalOfAll(_ result: CurlCode) -> TransferError? {
    guard let refusal = dial.refusal, !dial.hasTried else { return nil }
    return TransferError(.addressRefused, code: result, message: refusal)
  }

  /// The error if there was no socket for the last address.
  func shortage(_ result: CurlCode) -> TransferError? {
    guard result == .couldNotConnect, let errno = dial.shortage else { return nil }
    let text = "no socket could be opened: \(String(cString: strerror(errno)))"
    return TransferError(.noSocket, code: result, message: text, osErrno: errno)
  }
}

extension TransferEngine {
  /// Why the request's endpoint or URL names an address that may not be requested, in any spelling that libcurl accepts;
  /// nil if it does not. The host of the URL is not connected to if there is an endpoint. Unix sockets are not judged.
  package func refusalOfLiteral(_ spec: TransferSpec) -> TransferError? {
    guard let policy = spec.addressPolicy, prepared.unixSocketPath == nil, spec.endpoint?.unixSocketPath == nil,
      let host = spec.endpoint?.host ?? CurlURL.host(of: spec.url), let refusal = policy.refusal(ofHost: host)
    else { return nil }
    return TransferError(.addressRefused, message: refusal)
  }
}

/// The fate of the addresses for a connection that is being made.
struct DialState {
  /// Why the last refused address was refused.
  var refusal: String?
  /// Whether a socket was to be opened for an address.
  var hasTried = false
  /// Why there was no socket for the last address: no descriptors or no memory were left.
  var shortage: CInt?
  /// Whether the pooled connection is alive and not for this transfer: it leads to a refused address, or is too old.
  var avoidsPool = false
}

/// URLs as libcurl reads them.
package enum CurlURL {
  /// The host as libcurl connects to it or names it to a proxy: decoded, with addresses in libcurl's own spelling.
  package static func host(of url: String) -> String? {
    guard let handle = curl_url() else { return nil }
    defer { curl_url_cleanup(handle) }
    guard curl_url_set(handle, CURLUPART_URL, url, UInt32(CURLU_PATH_AS_IS)) == CURLUE_OK else { return nil }
    // Punycode turns digits and dots of other scripts into ASCII. A libcurl without IDN support uses the name
    // unchanged.
    return part(CURLUPART_HOST, of: handle, UInt32(CURLU_PUNYCODE)) ?? part(CURLUPART_HOST, of: handle, 0)
  }

  private static func part(_ part: CURLUPart, of handle: OpaquePointer, _ flags: UInt32) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}

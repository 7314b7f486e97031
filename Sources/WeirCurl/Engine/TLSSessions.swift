internal import CCurl

/// The TLS sessions that new connections may resume, for versions of libcurl that keep sessions with the easy handle.
/// Such a handle serves one transfer only, so each new connection would cost a full handshake. The number is libcurl's
/// default, eight.
final class TLSSessions {
  let share: UnsafeMutableRawPointer

  /// Nil where libcurl keeps sessions with the multi handle, or has no memory.
  init?() {
    guard !CurlLibrary.canReuseHandles, let share = curl_share_init() else { return nil }
    self.share = share
    let kind = Int(CURL_LOCK_DATA_SSL_SESSION.rawValue)
    // No lock functions are set, as only one loop uses the share.
    guard weir_share_set_long(share, CURLSHOPT_SHARE, kind) == CURLSHE_OK else { return nil }
  }

  deinit { curl_share_cleanup(share) }
}

internal import CCurl

/// The TLS sessions that new connections may resume, for libcurls that keep them with the easy handle: where that serves
/// one transfer only, each new connection would cost a full handshake. libcurl keeps as many as it does by itself, eight.
final class TLSSessions {
  let share: UnsafeMutableRawPointer

  /// nil where libcurl keeps them with the multi handle, or has no memory.
  init?() {
    guard !CurlLibrary.canReuseHandles, let share = curl_share_init() else { return nil }
    self.share = share
    let kind = Int(CURL_LOCK_DATA_SSL_SESSION.rawValue)
    // Nothing is locked: one loop uses it.
    guard weir_share_set_long(share, CURLSHOPT_SHARE, kind) == CURLSHE_OK else { return nil }
  }

  deinit { curl_share_cleanup(share) }
}

internal import CCurl

/// The engines of one loop share names that were looked up and lookups under way, so that a name costs one lookup, and
/// the TLS sessions that new connections may resume.
///
/// Before 8.12, libcurl keeps sessions with the easy handle. Such a handle serves one transfer only, so each new
/// connection would cost a full handshake. The number of sessions is libcurl's default.
final class SharedCaches {
  var lookups: LookupGate<Transfer>
  let share: UnsafeMutableRawPointer

  /// Nil without memory.
  init?(lookups limit: Int) {
    guard let share = curl_share_init() else { return nil }
    self.share = share
    lookups = LookupGate(limit: limit)
    // No lock functions are set, as only one loop uses the share.
    for data in [CURL_LOCK_DATA_DNS, CURL_LOCK_DATA_SSL_SESSION] {
      guard weir_share_set_long(share, CURLSHOPT_SHARE, Int(data.rawValue)) == CURLSHE_OK else { return nil }
    }
  }

  deinit { curl_share_cleanup(share) }
}

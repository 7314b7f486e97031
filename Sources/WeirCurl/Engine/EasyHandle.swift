internal import CCurl
internal import WeirIO

/// An owned easy handle with the buffers that its transfers need, used by one transfer after another. Where libcurl can't
/// be trusted with that, each transfer gets a fresh easy handle, and only the rest is kept.
final class EasyHandle {
  private(set) var easy: UnsafeMutableRawPointer
  private var isUsed = false
  /// Whether its present transfer's body comes from a callback.
  var readsBody = false
  /// What the easy handle shares with others, which has to outlive it.
  var tlsSessions: TLSSessions?
  /// A list that libcurl reads until the transfer is over, and frees no more than others.
  private var list: UnsafeMutablePointer<curl_slist>?
  let errorText: UnsafeMutablePointer<CChar>
  /// A small request body, which libcurl then sends together with the head.
  let body = BodyBuffer()
  /// Stays armed from transfer to transfer: re-arming one per request would cost a heap operation each.
  let silenceTimer = LoopTimer()
  /// Its present transfer. Unsafe, as a weak one costs an allocation per transfer: the engine keeps the transfer alive
  /// for as long as it is set.
  unowned(unsafe) var transfer: Transfer?

  init?() {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    curl_easy_cleanup(easy)
    curl_slist_free_all(list)
    errorText.deallocate()
  }

  /// Takes a list over for the present transfer.
  func keep(_ list: UnsafeMutablePointer<curl_slist>) -> UnsafeMutablePointer<curl_slist> {
    curl_slist_free_all(self.list)
    self.list = list
    return list
  }

  /// Has libcurl wait for a lookup that nobody wants any more, however long that takes.
  func waitForLookup() {
    _ = weir_easy_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, PreparedOptions.longestTimeout)
  }

  /// Makes the handle like new, save for its connections and caches, which belong to the multi handle. False when there
  /// is no memory for that.
  ///
  /// `curl_easy_reset` leaves a rewind of the body that was due when the transfer ended, and the next transfer, whatever it
  /// is, fails for that (8.14.1).
  func reset() -> Bool {
    if !isUsed {
      isUsed = true
    } else if CurlLibrary.canReuseHandles, !readsBody {
      curl_easy_reset(easy)
    } else {
      guard let fresh = curl_easy_init() else { return false }
      curl_easy_cleanup(easy)
      easy = fresh
    }
    curl_slist_free_all(list)
    list = nil
    errorText[0] = 0
    body.removeAll()
    readsBody = false
    return true
  }
}

/// Memory for a small request body, kept from one transfer to the next.
final class BodyBuffer {
  private(set) var base: UnsafeMutableRawPointer?
  private(set) var count = 0
  private var capacity = 0

  deinit { free() }

  /// Makes room for `length` bytes, lets `fill` write them and returns how many it did.
  func fill(_ length: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Int) {
    if length > capacity {
      free()
      capacity = max(1024, length)
      base = .allocate(byteCount: capacity, alignment: 16)
    }
    count = fill(UnsafeMutableRawBufferPointer(start: base, count: length))
  }

  /// Empties the buffer; memory beyond what most transfers need is given back.
  func removeAll() {
    count = 0
    if capacity > 16_384 { free() }
  }

  private func free() {
    base?.deallocate()
    base = nil
    count = 0
    capacity = 0
  }
}

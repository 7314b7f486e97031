internal import CCurl
internal import WeirIO

/// An owned easy handle with the buffers that its transfers need, used by one transfer after another. Where libcurl
/// can't reuse easy handles safely, each transfer gets a fresh easy handle, and only the rest is kept.
final class EasyHandle {
  private(set) var easy: UnsafeMutableRawPointer
  private var isUsed = false
  /// Whether the present transfer's body comes from a callback.
  var readsBody = false
  /// Shared with other handles; they have to outlive this one.
  var caches: SharedCaches?
  /// Lists that libcurl reads until the transfer is over, and that we have to free.
  private var lists: [UnsafeMutablePointer<curl_slist>] = []
  let errorText: UnsafeMutablePointer<CChar>
  /// A small request body, which libcurl then sends together with the head.
  let body = BodyBuffer()
  /// The timer stays armed from transfer to transfer: arming it anew for each request would cost a heap operation.
  let silenceTimer = LoopTimer()
  /// The present transfer. It is unsafe, as a weak reference costs an allocation per transfer. The engine keeps the
  /// transfer alive for as long as this is set.
  unowned(unsafe) var transfer: Transfer?

  init?() {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    curl_easy_cleanup(easy)
    for list in lists { curl_slist_free_all(list) }
    errorText.deallocate()
  }

  /// Takes ownership of a list for the present transfer.
  func keep(_ list: UnsafeMutablePointer<curl_slist>) -> UnsafeMutablePointer<curl_slist> {
    lists.append(list)
    return list
  }

  /// Makes the handle like new, except for its connections and caches, which belong to the multi handle. Returns false
  /// when there is no memory for that.
  ///
  /// If a rewind of the body was due when the transfer ended, `curl_easy_reset` leaves it due. The next transfer, of
  /// any kind, then fails (8.14.1).
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
    for list in lists { curl_slist_free_all(list) }
    lists.removeAll()
    errorText[0] = 0
    body.removeAll()
    readsBody = false
    return true
  }
}

/// Memory for a small request body, kept from one transfer to the next.
final class BodyBuffer {
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private(set) var count = 0

  deinit { memory.deallocate() }

  var base: UnsafeMutableRawPointer? { memory.baseAddress }

  /// Makes room for `length` bytes and lets `fill` write them; `count` becomes the number that it wrote.
  func fill(_ length: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Int) {
    if length > memory.count {
      memory.deallocate()
      memory = .allocate(byteCount: max(1024, length), alignment: 16)
    }
    count = fill(UnsafeMutableRawBufferPointer(rebasing: memory[..<length]))
  }

  /// Empties the buffer, and frees memory beyond what most transfers need.
  func removeAll() {
    count = 0
    guard memory.count > 16_384 else { return }
    memory.deallocate()
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }
}

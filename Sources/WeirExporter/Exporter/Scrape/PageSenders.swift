import WeirIO
import WeirServer

/// Sends pages, and limits the number of large pages kept for clients that read slowly. Confined to the loop.
final class PageSenders {
  private let limit: Int
  private var active: [PageSender] = []

  /// The size up to which a page is left to the server, in one write.
  private static let smallPage = 64 * 1024

  /// Seconds after which a client that reads nothing may be cut off for another one.
  static let patience = 2.0

  /// - Parameter limit: The number of large pages that may be under way at once. For a further page, the client that
  ///   has read nothing for longest is cut off, if that was long enough: a client that doesn't read must not keep
  ///   others from scraping.
  init(limit: Int) {
    self.limit = max(1, limit)
  }

  /// Sends a page. Returns false, and sends nothing, if too many large pages are on their way to clients that read
  /// them.
  func send(_ body: [UInt8], fields: ResponseFields, over exchange: Exchange) -> Bool {
    if body.count <= Self.smallPage || exchange.head.isMethod("HEAD") {
      exchange.respond(status: 200, fields: fields, body: body)
      return true
    }
    // `onAbort` is called only once. For a client that first ended its sending side and then left, it wasn't called
    // again.
    active.removeAll { $0.exchange.isEnded }
    if active.count >= limit, !cutOffStalledClient(at: exchange.loop.turnTime) { return false }
    let sender = PageSender(body, exchange)
    active.append(sender)
    exchange.onAbort = { [weak self, weak sender, unowned exchange] in
      if exchange.isEnded, let sender { self?.remove(sender) }
    }
    exchange.onWritable = { [weak self, weak sender] in
      if let sender { self?.proceed(sender) }
    }
    exchange.begin(status: 200, fields: fields, length: .length(Int64(body.count)))
    proceed(sender)
    return true
  }

  private func cutOffStalledClient(at now: MonotonicTime) -> Bool {
    let longest = active.min { ($0.exchange.blockedSince ?? now) < ($1.exchange.blockedSince ?? now) }
    guard let longest, let since = longest.exchange.blockedSince, now.seconds(since: since) >= Self.patience else {
      return false
    }
    remove(longest)
    longest.exchange.abort()
    return true
  }

  private func proceed(_ sender: PageSender) {
    if sender.proceed() { remove(sender) }
  }

  private func remove(_ sender: PageSender) {
    active.removeAll { $0 === sender }
  }
}

/// One large page on its way. Its bytes are shared with other clients that get the same page.
private final class PageSender {
  let exchange: Exchange
  private let body: [UInt8]
  private var sent = 0

  private static let pieceSize = 64 * 1024

  init(_ body: [UInt8], _ exchange: Exchange) {
    self.body = body
    self.exchange = exchange
  }

  /// Sends until the client takes no more for now. Returns true at the end of the page.
  func proceed() -> Bool {
    while sent < body.count {
      let piece = sent..<min(sent + Self.pieceSize, body.count)
      sent = piece.upperBound
      let takesMore = body.withUnsafeBytes { exchange.write(UnsafeRawBufferPointer(rebasing: $0[piece])) }
      if !takesMore && sent < body.count { return exchange.isEnded }
    }
    exchange.end()
    return true
  }
}

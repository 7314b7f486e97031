import WeirIO
import WeirServer

/// Sends pages, and bounds how many clients that read slowly can make it keep. Confined to the loop.
final class PageSenders {
  private let limit: Int
  private var active: [PageSender] = []

  /// A page up to this size is left to the server, in one write.
  private static let smallPage = 64 * 1024

  /// Seconds after which a client that takes nothing is given up for one more.
  static let patience = 2.0

  /// - Parameter limit: how many large pages are under way at once. For one more, the client that has taken nothing for
  ///   longest is cut off, if that is long enough: who doesn't read must not keep another from scraping.
  init(limit: Int) {
    self.limit = max(1, limit)
  }

  /// False, and nothing is sent, if too many large pages are on their way to clients that read them.
  func send(_ body: [UInt8], fields: ResponseFields, over exchange: Exchange) -> Bool {
    if body.count <= Self.smallPage || exchange.head.isMethod("HEAD") {
      exchange.respond(status: 200, fields: fields, body: body)
      return true
    }
    // A client that first ended its side and then left was only told of once.
    active.removeAll { $0.exchange.isEnded }
    if active.count >= limit, !cutOffWhoDoesNotRead(at: exchange.loop.turnTime) { return false }
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

  private func cutOffWhoDoesNotRead(at now: MonotonicTime) -> Bool {
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

/// One large page on its way. The bytes are shared with others who get the same page.
private final class PageSender {
  let exchange: Exchange
  private let body: [UInt8]
  private var sent = 0

  private static let pieceSize = 64 * 1024

  init(_ body: [UInt8], _ exchange: Exchange) {
    self.body = body
    self.exchange = exchange
  }

  /// Sends until the client doesn't take more for now; true at the end.
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

import WeirCompression
import WeirCurl

/// The response body of one hop on its way through decoder and limits to the request.
struct ResponseBody {
  /// So much is inflated at once, of what one read brought; the rest waits for the next turn of the loop.
  static var decodedBytesAtOnce: Int { 64 << 10 }

  /// Whether the transfer ended with an error, of interest or not: its connection is not used again.
  var hasBroken = false
  var decoder: ContentDecoder?
  /// Whether a turn of the loop is taken for it.
  var decodesNextTurn = false
  /// Bytes as they came over the wire.
  private(set) var received: Int64 = 0
  /// Whether there was more than one piece for the request.
  var isInPieces = false
  /// Bytes that the request got.
  private(set) var delivered: Int64 = 0
  private let limit: Int64?
  /// What went wrong on our side of the wire; wins over what libcurl then reports.
  var failure: URLError?
  /// Whether the end waits for a file's last place, or for its end; and whether it has waited.
  var isAwaited = false
  var isReceived = false
  /// What the receiver failed with; the attempt's error in place of the transfer's.
  var receiverFailure: WeirError?
  /// Why the server is not trusted, where that is evaluated; in place of the transfer's error too.
  var trustFailure: WeirError?
  /// The end of the transfer, while the receiver has not taken all.
  var ending: (error: TransferError?, report: TransferReport)?

  init(limit: Int64?) {
    self.limit = limit
  }

  /// Takes note of bytes from the wire; the limit when it is exceeded.
  mutating func receive(_ count: Int) -> Int64? {
    received += Int64(count)
    return exceeded(received)
  }

  /// Takes note of bytes for the request; the limit when it is exceeded.
  mutating func deliver(_ count: Int) -> Int64? {
    delivered += Int64(count)
    return exceeded(delivered)
  }

  /// The error of a body that ended too early for its coding.
  func endFailure() -> URLError? {
    guard let decoder else { return nil }
    do throws(CompressionError) {
      try decoder.finish()
      return nil
    } catch {
      return URLError(compression: error)
    }
  }

  private func exceeded(_ count: Int64) -> Int64? {
    limit.flatMap { count > $0 ? $0 : nil }
  }
}

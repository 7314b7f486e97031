import WeirCompression
import WeirCurl

/// The response body of one hop on its way through the decoder and the limits to the request.
struct ResponseBody {
  /// Bytes that are inflated at once from one read. The rest waits for the next turn of the loop.
  static var decodedBytesAtOnce: Int { 64 << 10 }

  /// Whether the transfer ended with an error, even one that the attempt ignores: its connection is not reused.
  var hasBroken = false
  var decoder: ContentDecoder?
  /// Whether a turn of the loop is scheduled to decode more.
  var decodesNextTurn = false
  /// Bytes as they came over the wire.
  private(set) var received: Int64 = 0
  /// Whether there was more than one piece for the request.
  var isInPieces = false
  /// Bytes that were passed on to the request.
  private(set) var delivered: Int64 = 0
  private let limit: Int64?
  /// An error on our side of the wire. It wins over the error that libcurl then reports.
  var failure: URLError?
  /// Whether the end waits until the body's file is in its final place or removed; `isReceived` says that this wait is
  /// over.
  var isAwaited = false
  var isReceived = false
  /// The receiver's error; it becomes the attempt's error in place of the transfer's.
  var receiverFailure: WeirError?
  /// The reason why server trust evaluation failed; it also takes the place of the transfer's error.
  var trustFailure: WeirError?
  /// The end of the transfer, while the receiver has not yet taken the whole body.
  var ending: (error: TransferError?, report: TransferReport)?

  init(limit: Int64?) {
    self.limit = limit
  }

  /// Counts bytes from the wire; returns the limit if it is exceeded.
  mutating func receive(_ count: Int) -> Int64? {
    received += Int64(count)
    return exceeded(received)
  }

  /// Counts bytes for the request; returns the limit if it is exceeded.
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

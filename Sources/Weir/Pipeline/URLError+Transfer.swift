import Foundation
import WeirCompression
import WeirCurl

extension URLError {
  init(_ error: TransferError, url: URL?) { self.init(.unknown) }
  init(compression error: CompressionError) { self.init(.cannotDecodeContentData) }
}
extension DecodeLimits {
  init(_ configuration: SessionConfiguration) {
    self.init(size: configuration.maximumDecompressedSize, ratio: configuration.maximumDecompressionRatio)
  }
}

extension RetryDelaySource {
  /// What a delay was raised by, if anything.
  init(delay: Double, response: LazyHTTPResponse?) {
    let asked = response?.value(forHeader: "Retry-After").flatMap { RetryAfter.delay($0, now: Date()) }
    // An HTTP date leaves a fraction of a second between the policy's clock and this one.
    self = asked.map { $0 > 0 && delay >= $0 - 1 && delay <= $0 + 1 } == true ? .retryAfter : .backoff
  }
}

import WeirCompression
import WeirMetrics

/// A page in the form in which it is sent.
struct RenderedPage: Sendable {
  let body: [UInt8]
  /// The number of bytes before compression.
  let plainSize: Int
}

/// Writes and compresses pages.
///
/// It runs collectors, which are the user's code and may be slow, so it belongs on a worker's thread. No memory is kept
/// from one page to the next: for a few pages a minute, releasing the memory is worth more than saving the allocation.
struct PageRenderer: Sendable {
  let registry: Registry
  let showsCreated: Bool

  func render(_ variant: ScrapeRequest.Variant) throws(CompressionError) -> RenderedPage {
    var page = ExpositionPage()
    registry.write(Exposition(variant.format, only: variant.names, created: showsCreated), to: &page)
    let size = page.count
    let body = try page.withBytes { bytes throws(CompressionError) in
      switch variant.coding {
      case .identity: Array(bytes)
      // Higher levels cost several times the processor time for a few percent.
      case .gzip: try Compression.deflate(bytes, .gzip, level: 1)
      }
    }
    return RenderedPage(body: body, plainSize: size)
  }
}

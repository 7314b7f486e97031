/// Text that is copied often: with room behind it, so that it can be copied in blocks of 16.
struct PaddedBytes: Sendable {
  let bytes: [UInt8]

  init(_ text: String) {
    self.init(Array(text.utf8))
  }

  init(_ text: [UInt8]) {
    bytes = text + repeatElement(0, count: SeriesLabels.padding)
  }

  var count: Int {
    bytes.count - SeriesLabels.padding
  }
}

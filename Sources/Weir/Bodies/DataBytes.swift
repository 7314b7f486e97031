import WeirCurl

/// A `Data` as the body of a transfer, without a copy.
struct DataBytes: TransferBytes {
  private let data: Data

  init(_ data: Data) {
    self.data = data
  }

  var count: Int { data.count }

  func copyBytes(from offset: Int, to buffer: UnsafeMutableRawBufferPointer) -> Int {
    let length = min(buffer.count, data.count - offset)
    guard offset >= 0, length > 0 else { return 0 }
    let start = data.startIndex + offset
    return data.copyBytes(to: buffer, from: start..<(start + length))
  }
}

extension TransferBody {
  /// Nil if the length isn't known.
  var length: Int64? {
    switch self {
    case .none: 0
    case .bytes(let bytes): Int64(bytes.count)
    case .file(_, let size): size
    case .pulled(let length): length
    }
  }
}

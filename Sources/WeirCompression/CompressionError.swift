import CZlib

/// The zlib that this process has loaded.
package enum ZlibLibrary {
  /// The version, such as `1.2.13`.
  package static var version: String { zlibVersion().map { String(cString: $0) } ?? "" }
}

/// Why compressed bytes could not be decoded, or bytes could not be compressed.
package enum CompressionError: Error, Hashable, Sendable {
  /// The bytes are not valid in their coding: a bad header, a bad block or a checksum that does not match.
  /// The text is one of zlib's fixed messages.
  case corrupt(String)

  /// The input ended before the coding's end mark.
  case truncated

  /// The decoded size would have passed this many bytes.
  case sizeLimit(Int64)

  /// Decoded ÷ received bytes would have passed this ratio.
  case ratioLimit(Double)

  /// zlib could not get the memory it needs.
  case outOfMemory

  /// zlib refused a call: a defect in the caller, such as input after the end of a deflated stream.
  case misuse

  /// A label without dynamic text, fit for a metric.
  package var label: String {
    switch self {
    case .corrupt: "corrupt"
    case .truncated: "truncated"
    case .sizeLimit: "size_limit"
    case .ratioLimit: "ratio_limit"
    case .outOfMemory: "out_of_memory"
    case .misuse: "misuse"
    }
  }

  /// The error for a zlib return code other than `Z_OK`, `Z_STREAM_END` and `Z_BUF_ERROR`.
  init(code: Int32, message: UnsafePointer<CChar>?) {
    switch code {
    case Z_MEM_ERROR: self = .outOfMemory
    case Z_NEED_DICT: self = .corrupt("a preset dictionary is needed")
    case Z_DATA_ERROR: self = .corrupt(message.map { String(cString: $0) } ?? "invalid data")
    default: self = .misuse
    }
  }
}

extension CompressionError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .corrupt(let message): "compressed data is corrupt: \(message)"
    case .truncated: "compressed data ends before its end mark"
    case .sizeLimit(let limit): "decoded data is larger than the limit of \(limit) bytes"
    case .ratioLimit(let limit): "decoded data is larger than \(limit) times the received data"
    case .outOfMemory: "zlib is out of memory"
    case .misuse: "zlib was called in the wrong state"
    }
  }
}

import Synchronization

/// The file that one response's body goes to. Lives on the loop.
final class DownloadSink {
  enum Stage {
    /// Bytes come in.
    case receiving
    /// No more bytes come, and the rest has to be written; with an error too, so that the download can be resumed.
    case flushing(URLError?)
    /// The file is complete and being moved, or is being removed.
    case ending
    /// The attempt was told of the end.
    case over
  }

  let file: PartialFile
  /// The sink's number among the request's sinks.
  let number: Int
  /// The offset in the file at which the response's body begins.
  let offset: Int64
  /// The length that the response's body must have; nil: any length.
  let length: Int64?
  /// The length of the whole file; nil if unknown.
  let total: Int64?
  /// The validator that a resumed download's response would have to match; nil: the download can't be resumed.
  let validator: ResumeData.Validator?
  var buffer = WriteBuffer()
  var stage = Stage.receiving
  /// Whether a write is scheduled for the end of the loop's turn.
  var isScheduled = false

  init(
    _ file: PartialFile, number: Int, offset: Int64 = 0, length: Int64? = nil, total: Int64?,
    validator: ResumeData.Validator?
  ) {
    self.file = file
    self.number = number
    self.offset = offset
    self.length = length
    self.total = total
    self.validator = validator
  }

  private var received: Int64 { buffer.written + Int64(buffer.count) }

  /// Whether more bytes came than were announced. Then none of them can be trusted.
  var isTooLong: Bool { length.map { received > $0 } ?? false }

  /// The error of a body that ended with the wrong length.
  var lengthFailure: URLError? {
    guard let length, received != length else { return nil }
    return URLError(
      received < length ? .networkConnectionLost : .badServerResponse,
      userInfo: [NSLocalizedDescriptionKey: "the rest of the download has \(received) bytes; \(length) were expected"])
  }
}

/// A piece of a body that goes to a worker and comes back, so that its memory is used again.
final class Piece: Sendable {
  private let bytes: Mutex<[UInt8]>

  init(_ bytes: sending [UInt8]) {
    self.bytes = Mutex(bytes)
  }

  func take() -> [UInt8] {
    bytes.withLock { bytes in
      defer { bytes = [] }
      return bytes
    }
  }

  func put(_ bytes: consuming [UInt8]) {
    let bytes = bytes
    self.bytes.withLock { $0 = bytes }
  }
}

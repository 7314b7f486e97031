import Synchronization

/// Where the body of one response goes. Lives on the loop.
final class DownloadSink {
  enum Stage {
    /// Bytes come in.
    case receiving
    /// No more come; what is there has to be written. With an error, so that somebody may go on from there.
    case flushing(URLError?)
    /// The file is complete and gets its place, or is let go of.
    case ending
    /// The attempt is told.
    case over
  }

  let file: PartialFile
  /// Which of the request's sinks it is.
  let number: Int
  /// Where in the file the response's body begins.
  let offset: Int64
  /// How long the response's body has to be; nil: as long as it is.
  let length: Int64?
  /// How long the whole is; nil: not known.
  let total: Int64?
  /// What the rest would have to agree with; nil: there is no resuming.
  let validator: ResumeData.Validator?
  var buffer = WriteBuffer()
  var stage = Stage.receiving
  /// Whether the end of the turn will see to what waits.
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

  /// Whether more came than was announced: nothing of it is to be believed.
  var isTooLong: Bool { length.map { received > $0 } ?? false }

  /// What is wrong with a body that has come to its end.
  var lengthFailure: URLError? {
    guard let length, received != length else { return nil }
    return URLError(
      received < length ? .networkConnectionLost : .badServerResponse,
      userInfo: [NSLocalizedDescriptionKey: "the rest of the download has \(received) bytes in place of \(length)"])
  }
}

/// A piece of a body that goes to a worker and back, so that its memory is used again.
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

import WeirCurl
import WeirIO

/// The progress of sending a request's body.
struct Upload {
  /// Nil when the length is unknown, so that the body is sent in chunks.
  let length: Int64?
  let isEmpty: Bool
  /// Whether the user wants no bytes to be asked for, or has none.
  var isPaused = false
  /// Whether sending is paused for lack of bytes, and not by the user.
  var awaitsSource = false
  /// Whether the body waits for the server's consent (RFC 9110 §10.1.1).
  var awaitsContinue = false
  /// Whether the request asks for that consent.
  var expectsContinue: Bool
  /// Whether the server would not be asked, so that the request is sent without the question.
  var isRefusedConsent = false
  /// Bytes taken from the source since the last rewind.
  var supplied: Int64 = 0
  /// Bytes that the system has taken.
  var sent: Int64 = 0
  /// Bytes of which the delegate knows.
  var reported: Int64 = 0
  /// Whether the source has no more bytes.
  var isComplete: Bool
  /// Whether the rest of the body is not sent, as the response is there already or the connection is broken.
  var isAbandoned = false
  var file: LoopBound<FileBody>?
  /// Whether the bytes are those of another protocol, to which the server has switched.
  private(set) var isRaw = false
  /// Whether the server knows that no more bytes come.
  var isShutDown = false
  /// Whether the server is not told by close_notify that the stream is whole.
  var omitsEndNotice = false

  /// - Parameter isForHead: Whether the method is HEAD, for which no body is sent.
  init(_ body: TransferBody, expectsContinue: Bool, isForHead: Bool) {
    let body = isForHead ? .none : body
    length = body.length
    if case .none = body { isEmpty = true } else { isEmpty = false }
    isComplete = length == 0
    self.expectsContinue = expectsContinue && !isComplete
  }

  /// Bytes of another protocol, to which the server has switched: as they come from the delegate, without framing.
  static var raw: Upload {
    var upload = Upload(.pulled(length: nil), expectsContinue: false, isForHead: false)
    upload.isRaw = true
    return upload
  }

  /// The body starts again from its beginning.
  mutating func startAgain() {
    supplied = 0
    sent = 0
    isComplete = length == 0
    isAbandoned = false
    awaitsContinue = false
    // The source may never report more bytes: those awaited were the rest of the body.
    if awaitsSource { isPaused = false }
    awaitsSource = false
  }

  /// Whether nothing more of the body will be sent.
  var isOver: Bool { isComplete || isAbandoned }

  var isChunked: Bool { length == nil && !isRaw }
}

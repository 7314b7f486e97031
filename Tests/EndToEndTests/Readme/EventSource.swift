// docs/bodies.md begins
import Foundation
import FoundationNetworking
import Synchronization
import Weir

/// Server-sent events (WHATWG HTML, section 9.2), read on after every disconnect from where they stopped.
///
/// One value is all that a stream of events needs: the serializer that puts lines and events together across chunks, the
/// adapter that begins anew and says what came last, the validator for which a clean end is an error, and the retrier.
/// One value for each request.
final class EventSource: DataStreamSerializer, RequestInterceptor {
  struct Event: Sendable, Equatable {
    /// The last one that was given, by this event or one before.
    var id = ""
    var name = "message"
    var data = ""
  }

  enum Failure: Error {
    /// The server has closed the stream, as servers do.
    case ended
    /// It answered with something else.
    case noEvents
  }

  private let parser = Mutex(EventParser())

  /// The events from here on, in the chunks in which they come.
  func events(of url: String, in session: Session) -> DataStreamTask.Stream<[Event], WeirError> {
    session.streamRequest(url, interceptor: self)
      .validate(statusCode: [200, 204]).validate { self.validate($1) }
      .retryBudget(nil)  // reconnecting is what this is for
      .streamTask().streamingResponses(serializedUsing: self)
  }

  // Of a response that was read to its end: only 204 says that there is no more to come.
  func validate(_ response: HTTPURLResponse) -> Request.ValidationResult {
    if response.statusCode == 204 { return .success(()) }
    return .failure(response.mimeType == "text/event-stream" ? Failure.ended : .noEvents)
  }

  // All chunks of an attempt come here before its validators and retriers are asked.
  func serialize(_ data: Data) -> [Event] {
    parser.withLock { $0.read(data) }
  }

  // Half an event of the connection before is worth nothing: the server sends it again.
  func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    var urlRequest = urlRequest
    let last = parser.withLock { parser in
      parser = EventParser(after: parser)
      return parser.lastID
    }
    urlRequest.setValue("text/event-stream", forHTTPHeaderField: "Accept")
    urlRequest.setValue(last.isEmpty ? nil : last, forHTTPHeaderField: "Last-Event-ID")
    completion(.success(urlRequest))
  }

  func retry(
    _ request: Request, for session: Session, dueTo error: any Error,
    completion: @escaping @Sendable (RetryResult) -> Void
  ) {
    // Another status or content type stays; the rest is a matter of the network.
    let error = error.asWeirError
    let isLost = error?.isSessionTaskError == true || error?.underlyingError as? Failure == .ended
    completion(isLost ? .retryWithDelay(parser.withLock { $0.reconnectionTime }) : .doNotRetry)
  }
}

/// Lines end in CR, LF or CRLF; an empty one ends an event. Text is decoded line by line, so that no chunk's border
/// cuts a character.
struct EventParser {
  private(set) var lastID: String
  /// Seconds.
  private(set) var reconnectionTime: Double
  private var id: String
  private var name = ""
  private var data: String?
  private var line: [UInt8] = []
  private var isFirstLine = true
  private var isAfterCR = false

  init(after last: EventParser? = nil) {
    lastID = last?.lastID ?? ""
    id = lastID
    reconnectionTime = last?.reconnectionTime ?? 3
  }

  mutating func read(_ bytes: Data) -> [EventSource.Event] {
    var events: [EventSource.Event] = []
    for byte in bytes {
      defer { isAfterCR = byte == 0x0D }
      switch byte {
      case 0x0A where isAfterCR: break
      case 0x0A, 0x0D: if let event = endLine() { events.append(event) }
      default: line.append(byte)
      }
    }
    return events
  }

  private mutating func endLine() -> EventSource.Event? {
    if isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
    isFirstLine = false
    guard !line.isEmpty else { return endEvent() }
    let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    var value = parts.count > 1 ? parts[1] : []
    if value.first == UInt8(ascii: " ") { value.removeFirst() }
    field(String(decoding: parts[0], as: UTF8.self), String(decoding: value, as: UTF8.self))
    line.removeAll(keepingCapacity: true)
    return nil
  }

  private mutating func field(_ field: String, _ value: String) {
    switch field {
    case "event": name = value
    case "data": data = data.map { "\($0)\n\(value)" } ?? value
    case "id": if !value.utf8.contains(0) { id = value }
    case "retry":
      if !value.isEmpty, value.utf8.allSatisfy({ $0 &- 48 < 10 }), let time = Double(value) {
        reconnectionTime = time / 1_000
      }
    default: break  // a comment has the empty name
    }
  }

  private mutating func endEvent() -> EventSource.Event? {
    lastID = id
    defer { (name, data) = ("", nil) }
    return data.map { EventSource.Event(id: id, name: name.isEmpty ? "message" : name, data: $0) }
  }
}
// docs/bodies.md ends

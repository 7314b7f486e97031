import Synchronization
import WeirIO

/// One attempt of a request, with the redirects followed within it. All members may be used from any thread.
public final class TransferTask: Sendable {
  /// The state of a task.
  public enum State: Sendable {
    /// In this order: under way; not started, or stopped; being cancelled; over.
    case running, suspended, canceling, completed
  }

  /// A number that is unique and ascending within a session.
  public let taskIdentifier: Int
  private let fields: Mutex<Fields>

  private struct Fields {
    let original: HopRequest
    var current: HopRequest
    var response: LazyHTTPResponse?
    var state = State.suspended
    var error: (any Error)?
    var counts = Counts()
    /// Retained while the task is under way, so that the task can be steered directly.
    var owner: (any TransferSteering)?
  }

  struct Counts {
    var sent: Int64 = 0
    var expectedToSend: Int64 = 0
    var received: Int64 = 0
  }

  init(identifier: Int, request: HopRequest, owner: any TransferSteering) {
    taskIdentifier = identifier
    fields = Mutex(Fields(original: request, current: request, owner: owner))
  }

  /// The same as ``taskIdentifier``.
  public var id: Int { taskIdentifier }
  /// The adapted URL request of the attempt, before redirects.
  public var originalRequest: URLRequest? { fields.withLock { $0.original }.urlRequest }
  /// The request of the last hop.
  public var currentRequest: URLRequest? { fields.withLock { $0.current }.urlRequest }
  /// The last response head, an `HTTPURLResponse`.
  public var response: URLResponse? { lazyResponse?.response }
  /// ``Request/destination`` of the task's request. Nil once the task is over: a monitor with a queue of its own may be
  /// told of the task's events later than that.
  public var destination: Destination? { fields.withLock { $0.owner }?.destination }
  /// The task's state, at first ``State/suspended``.
  public var state: State { fields.withLock { $0.state } }
  /// The `URLError` with which the transfer ended; nil before the end, and after a success.
  public var error: (any Error)? { fields.withLock { $0.error } }
  /// The number of bytes of the request's body that were sent.
  public var countOfBytesSent: Int64 { fields.withLock { $0.counts.sent } }
  /// The length of the request's body; −1 if unknown.
  public var countOfBytesExpectedToSend: Int64 { fields.withLock { $0.counts.expectedToSend } }
  /// The bytes of the response's body as received, before decoding.
  public var countOfBytesReceived: Int64 { fields.withLock { $0.counts.received } }
  /// The value of Content-Length; −1 if the server sends none.
  public var countOfBytesExpectedToReceive: Int64 {
    lazyResponse?.value(forHeader: "Content-Length").flatMap { Int64($0) } ?? -1
  }

  /// Makes the attempt fail with `URLError(.cancelled)`, which retriers may retry. ``Request/cancel()`` ends the
  /// request.
  public func cancel() {
    fields.withLock { if $0.state != .completed { $0.state = .canceling } }
    steer(to: .canceling)
  }

  /// Stops reading and writing; the connection and the request's own state are kept. Has no effect before the
  /// attempt is on the wire.
  public func suspend() {
    steer(to: .suspended)
  }

  /// Continues after ``suspend()``.
  public func resume() {
    steer(to: .running)
  }

  private func steer(to state: State) {
    fields.withLock { $0.owner }?.steer(self, to: state)
  }

  // MARK: The pipeline's view

  var lazyResponse: LazyHTTPResponse? { fields.withLock { $0.response } }

  /// Sets the state. False: the task is completed or being cancelled, and stays so.
  @discardableResult
  func setState(_ state: State) -> Bool {
    fields.withLock { fields in
      guard fields.state != .completed, fields.state != .canceling || state == .canceling else { return false }
      fields.state = state
      return true
    }
  }

  func received(_ response: LazyHTTPResponse) {
    fields.withLock { $0.response = response }
  }

  func redirected(to request: HopRequest) {
    let replaced = fields.withLock { fields in
      defer { fields.current = request }
      fields.response = nil
      return fields.current
    }
    // Released outside the lock: the body's stream is the caller's.
    withExtendedLifetime(replaced) {}
  }

  func update(_ change: (inout Counts) -> Void) {
    fields.withLock { change(&$0.counts) }
  }

  /// Notes the start. False: the task was cancelled and must not be sent.
  func starts(expectedToSend length: Int64) -> Bool {
    fields.withLock { fields in
      guard fields.state != .canceling else { return false }
      fields.state = .running
      fields.counts.expectedToSend = length
      // After a redirect that keeps the body, the body is sent again.
      if length != 0 { fields.counts.sent = 0 }
      return true
    }
  }

  /// Completes the task, and returns its last response.
  @discardableResult
  func complete(error: (any Error)?) -> LazyHTTPResponse? {
    let (owner, response) = fields.withLock { fields in
      fields.state = .completed
      fields.error = error
      defer { fields.owner = nil }
      return (fields.owner, fields.response)
    }
    // Released outside the lock, as it may be the last reference.
    withExtendedLifetime(owner) {}
    return response
  }
}

/// The owner of a task, which suspends, resumes or cancels its transfer when the task's holder asks for it.
protocol TransferSteering: AnyObject, Sendable {
  /// The destination of the request's first URL.
  var destination: Destination? { get }

  func steer(_ task: TransferTask, to state: TransferTask.State)
}

extension TransferTask: Hashable {
  public static func == (left: TransferTask, right: TransferTask) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

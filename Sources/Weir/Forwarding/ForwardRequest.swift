import Foundation
import FoundationNetworking
package import WeirCurl
import WeirIO

/// Where a forwarded response goes. All calls come on the loop.
package protocol ForwardSink: AnyObject {
  /// The final head; retries have had their say.
  func forward(_ request: ForwardRequest, didReceive response: LazyHTTPResponse) -> BodyFlow
  /// Bytes of the body as they came over the wire. They are taken in any case; `.pause` stops further ones until
  /// ``ForwardRequest/resumeReceiving()``.
  func forward(_ request: ForwardRequest, didReceive bytes: UnsafeRawBufferPointer) -> BodyFlow
  /// The attempt has failed after its head. True: nothing of the response has gone further, and what was received of it
  /// is forgotten; another one may follow.
  func forwardTakesBack(_ request: ForwardRequest) -> Bool
  /// There is room for more of the request's body.
  func forwardWantsBody(_ request: ForwardRequest)
  /// The request has settled. The last call.
  func forward(_ request: ForwardRequest, didSettle outcome: RequestOutcome, error: WeirError?)
}

/// A request that passes bodies through in both directions instead of keeping them.
///
/// It differs from other requests in what the gateway needs: field lines go out as given, nothing is decoded, no
/// redirect is followed, and whether to retry is decided when a response's head is there, before a byte is passed on.
///
/// `@unchecked Sendable`: see ``Request``; this class adds constants only, the mutable part is bound to the loop.
package final class ForwardRequest: Request, @unchecked Sendable {
  package struct Head: Sendable {
    /// Where the request goes; its path and query are not looked at.
    package var origin: URL
    /// Sent as it is.
    package var target: String
    /// Sent as it is: methods are case-sensitive (RFC 9110 §9.1).
    package var method: String
    /// In the order in which they go out.
    package var fields: HeaderBlock
    /// Nil: no body. Unknown: sent in chunks.
    package var body: Body
    /// Retries that others had made of it before it came.
    package var retriesBefore = 0
    /// Whether our own are announced in addition.
    package var announcesRetries = true
    package var destinationPolicy = DestinationPolicy.any
    /// What the upstream has to prove; nil: what the session's settings say.
    package var trust: TransferTrust?

    package enum Body: Sendable {
      case none
      case length(Int64)
      case unknown
    }

    package init(origin: URL, target: String, method: String, fields: HeaderBlock, body: Body = .none) {
      self.origin = origin
      self.target = target
      self.method = method
      self.fields = fields
      self.body = body
    }
  }

  private final class Confined {
    var sink: (any ForwardSink)?
    var buffer = ReplayBuffer()
    var isForwarding = false
    /// Whether the sending side found the buffer empty and waits.
    var wantsBytes = false
    /// Whether the receiving side found it full and waits.
    var isFull = false

    init(_ sink: any ForwardSink) {
      self.sink = sink
    }
  }

  package let head: Head
  private let retryableStatusCodes: Set<Int>
  private let ownControls: DestinationControls?
  private let confined: LoopBound<Confined>

  /// On the loop.
  ///
  /// - Parameters:
  ///   - retryableStatusCodes: Responses about which the interceptor's retrier is asked.
  ///   - controls: What bounds its attempts at the upstream; nil: what the session says.
  package init(
    session: Session, head: Head, interceptor: (any RequestInterceptor)?, retryableStatusCodes: Set<Int>,
    controls: DestinationControls? = nil, sink: any ForwardSink
  ) {
    self.head = head
    self.retryableStatusCodes = retryableStatusCodes
    ownControls = controls
    confined = LoopBound(confining: Confined(sink), on: session.context.loop)
    super.init(context: session.context, interceptor: interceptor, shouldAutomaticallyResume: false)
  }

  // MARK: The receiving side, on the loop

  /// Whether the upstream has taken all that came of the body and could take more.
  package var awaitsBody: Bool { confined.value.wantsBytes }

  /// More of the request's body. `.pause`: send no more until ``ForwardSink/forwardWantsBody(_:)``.
  package func append(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    let state = confined.value
    state.buffer.append(bytes)
    wakeSender(state)
    state.isFull = !state.buffer.wantsMore
    return state.isFull ? .pause : .proceed
  }

  /// The request's body is complete.
  package func endBody() {
    let state = confined.value
    state.buffer.finish()
    wakeSender(state)
  }

  /// Lets the response's body go on after `.pause`.
  package func resumeReceiving() {
    onPipeline { $0.attempt?.release(.sink) }
  }

  private func wakeSender(_ state: Confined) {
    guard state.wantsBytes else { return }
    state.wantsBytes = false
    context.core.value.pipeline(of: self)?.attempt?.bodyArrived()
  }

  // MARK: The pipeline's hooks

  override func makeURLRequest() throws -> URLRequest {
    var request = URLRequest(url: head.origin)
    if head.method != "GET" { request.httpMethod = Self.asGiven(head.method) }
    return request
  }

  /// Foundation makes `get` a GET, and retriers and metrics would take it for one. What goes on the wire is the request
  /// line's.
  private static func asGiven(_ method: String) -> String {
    guard method.utf8.contains(where: { $0 &- 97 < 26 }) else { return method }
    let isKnown = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]
      .contains(method.uppercased())
    return isKnown ? "_\(method)" : method
  }

  override var requestLine: RequestLine? { RequestLine(method: head.method, target: head.target) }

  override var headerBlock: HeaderBlock? { head.fields }
  override var decodesBody: Bool { false }
  override var followsRedirects: Bool { false }
  override var isForOneOfMany: Bool { true }
  override var controls: DestinationControls? { ownControls }
  override var addressPolicy: AddressPolicy? { head.destinationPolicy.rules }
  override var trust: TransferTrust? { head.trust }
  override var announcesRetries: Bool { head.announcesRetries }
  override func retriesBefore(_ urlRequest: URLRequest, by header: AttemptHeader) -> Int { head.retriesBefore }

  override func makeBody(of urlRequest: URLRequest) -> AttemptBody {
    switch head.body {
    case .none: .none
    case .length(let length): .pulled(length: length)
    case .unknown: .pulled(length: nil)
    }
  }

  override func provideBody(into buffer: UnsafeMutableRawBufferPointer) -> BodyProvision {
    let state = confined.value
    let read = state.buffer.read(into: buffer)
    if state.isFull, state.buffer.wantsMore {
      state.isFull = false
      state.sink?.forwardWantsBody(self)
    }
    switch read {
    case .bytes(let count): return .bytes(count)
    case .end: return .end
    case .wait:
      state.wantsBytes = true
      return .later
    }
  }

  override func rewindBody() -> Bool {
    confined.value.wantsBytes = false
    return confined.value.buffer.rewind()
  }

  override var waitsForItsMaker: Bool { awaitsBody && !confined.value.isForwarding }

  override var canReplayBody: Bool {
    guard !confined.value.isForwarding else { return false }
    let buffer = confined.value.buffer
    return switch head.body {
    case .none: true
    case .length(let length): buffer.canReplay && (buffer.isComplete || length <= ReplayBuffer.defaultLimit)
    // It might outgrow the buffer while the retry waits.
    case .unknown: buffer.canReplay && buffer.isComplete
    }
  }

  override func decidesAtHead(_ response: LazyHTTPResponse) -> Bool {
    retryableStatusCodes.contains(response.statusCode)
  }

  override func receive(_ response: LazyHTTPResponse) -> BodyFlow {
    confined.value.isForwarding = true
    return confined.value.sink?.forward(self, didReceive: response) ?? .stop
  }

  override func receive(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    confined.value.sink?.forward(self, didReceive: bytes) ?? .stop
  }

  override func attemptFailed() {
    let state = confined.value
    guard state.isForwarding, let sink = state.sink else { return }
    state.isForwarding = !sink.forwardTakesBack(self)
  }

  override func settled(_ outcome: RequestOutcome, error: WeirError?) {
    let sink = confined.value.sink
    confined.value.sink = nil
    sink?.forward(self, didSettle: outcome, error: error)
  }
}

import Synchronization

/// A request whose response body is kept in memory.
///
/// `@unchecked Sendable`: see ``Request``; this class adds constants only.
public class DataRequest: Request, @unchecked Sendable {
  /// Says whether a response is acceptable. An error that is a ``WeirError`` is kept; any other becomes
  /// ``WeirError/ResponseValidationFailureReason/customValidationFailed(error:)``.
  public typealias Validation = @Sendable (URLRequest?, HTTPURLResponse, Data?) -> ValidationResult

  private let source: Source

  /// The origin of each attempt's URL request.
  enum Source {
    case parts(RequestParts)
    case convertible(any URLRequestConvertible)
  }

  init(
    source: Source, context: SessionContext, interceptor: (any RequestInterceptor)?,
    shouldAutomaticallyResume: Bool?
  ) {
    self.source = source
    super.init(
      context: context, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
  }

  /// The decoded body so far; nil until a byte arrives.
  public var data: Data? { fields.withLock { $0.data } }

  /// Makes the URL request of each attempt.
  public var convertible: any URLRequestConvertible {
    switch source {
    case .parts(let parts): parts
    case .convertible(let convertible): convertible
    }
  }

  override func makeURLRequest() throws -> URLRequest { try convertible.asURLRequest() }

  override func makeHop() throws -> HopRequest {
    if case .parts(let parts) = source, let hop = try parts.plain { return hop }
    return try super.makeHop()
  }

  override var mayBeCached: Bool { true }

  override var maximumBodySize: Int64? { context.configuration.maximumResponseSize }

  /// The part of an announced length, in bytes, for which room is made before the bytes arrive.
  private static let believedLength: Int64 = 16 << 20

  /// Makes room for the whole body at once.
  override func bodyGoesOn(_ expected: Int64) {
    fields.withLock { fields in
      guard let data = fields.data, let room = room(for: data.count, of: expected) else { return }
      if let extended = context.bodyMemory.extended(data, to: room) {
        fields.data = extended
      } else {
        fields.data?.reserveCapacity(room)
      }
    }
  }

  /// The room in bytes to reserve for the body; nil: no more than the bytes need. A coded body has no known length. It
  /// gets the smallest size that ``BodyMemory`` keeps, once it has reached a quarter of that size; a larger room would
  /// stay allocated as long as the caller keeps the body.
  private func room(for count: Int, of expected: Int64) -> Int? {
    if expected > 0 { return Int(min(expected, maximumBodySize ?? .max, Self.believedLength)) }
    let least = BodyMemory.sizes.lowerBound
    return count < Self.wholePiece && count * 4 >= least ? least : nil
  }

  /// The size of the pieces of a long body. A first piece of this size is expected to be followed by another.
  private static let wholePiece = ResponseBody.decodedBytesAtOnce

  /// The first piece of the body. If another piece follows, it has room for more.
  private func begin(_ bytes: UnsafeRawBufferPointer) -> Data {
    guard bytes.count >= Self.wholePiece else { return Data(bytes) }
    return context.bodyMemory.body(bytes, room: BodyMemory.sizes.lowerBound) ?? Data(bytes)
  }

  override func receive(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    fields.withLock { fields in
      if fields.data == nil {
        fields.data = begin(bytes)
      } else {
        fields.data?.append(contentsOf: bytes)
      }
    }
    return .proceed
  }

  /// Calls back with the final response's head before its body is received; the body waits until the closure answers.
  /// Only the last closure set counts. Without `queue`, the closure runs on the request's handler queue.
  @preconcurrency
  @_disfavoredOverload
  @discardableResult
  public func onHTTPResponse(
    on queue: DispatchQueue? = nil,
    perform handler:
      @escaping @Sendable (
        HTTPURLResponse, _ completionHandler: @escaping @Sendable (ResponseDisposition) -> Void
      ) -> Void
  ) -> Self {
    observeResponses(on: HandlerQueue(queue), handler)
  }

  /// Calls back with the final response's head, before its body is received.
  @preconcurrency
  @discardableResult
  public func onHTTPResponse(
    on queue: DispatchQueue? = nil, perform handler: @escaping @Sendable (HTTPURLResponse) -> Void
  ) -> Self {
    observeResponses(on: HandlerQueue(queue), handler)
  }
}

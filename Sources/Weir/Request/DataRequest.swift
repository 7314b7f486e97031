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

  override var maximumBodySize: Int64? {
    fields.withLock { $0.maximumResponseSize } ?? context.configuration.maximumResponseSize
  }

  /// The part of an announced length, in bytes, for which room is made before the bytes arrive.
  private static let believedLength: Int64 = 16 << 20

  /// Makes room for the whole body at once.
  override func bodyGoesOn(_ expected: Int64) {
    let limit = maximumBodySize ?? .max
    fields.withLock { fields in
      guard let data = fields.data, let room = room(for: data.count, of: min(expected, limit)) else { return }
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
    if expected > 0 { return Int(min(expected, Self.believedLength)) }
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
}

/// The parts from which a URL request is built, in this order: URL, method and headers; the modifier; the parameters.
final class RequestParts: URLRequestConvertible {
  typealias Encode = @Sendable (URLRequest) throws -> URLRequest

  let url: any URLConvertible
  let method: HTTPMethod
  let headers: HTTPHeaders?
  let modifier: Session.RequestModifier?
  /// Encodes the parameters; nil if there are none.
  let encode: Encode?

  init(
    url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders?, modifier: Session.RequestModifier?,
    encode: Encode? = nil
  ) {
    self.url = url
    self.method = method
    self.headers = headers
    self.modifier = modifier
    self.encode = encode
  }

  /// The request, if it is of a URL, header fields, and one of the methods that a `URLRequest` leaves as they are; else
  /// nil.
  var plain: HopRequest? {
    get throws {
      guard encode == nil, modifier == nil, Self.isPlain(method) else { return nil }
      let hop = HopRequest(plain: try url.asURL(), method: method, headers: headers ?? [:])
      try hop.validate()
      return hop
    }
  }

  private static func isPlain(_ method: HTTPMethod) -> Bool {
    method == .get || [.delete, .head, .options, .patch, .post, .put].contains(method)
  }

  func asURLRequest() throws -> URLRequest {
    var request = try URLRequest(url: url, method: method, headers: headers)
    try modifier?(&request)
    return try encode?(request) ?? request
  }
}

import CLinux
import Dispatch
import Foundation
import FoundationNetworking
import FuzzSupport
import Glibc
import Synchronization
import Weir
import WeirIO

/// A session that lives as long as the process, with small limits, and its upstream.
final class ClientRig {
  private let upstream = Upstream()
  private let loop: EventLoop
  private let session: Session
  /// One that keeps cookies and responses.
  private let remembering: Session
  private let cookies = CookieStorage(domains: .trusting)
  /// Rung by the loop when a request has ended.
  private let bell = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
  private var descriptors = Descriptors()
  private var count = 0

  init() {
    do {
      loop = try EventLoop(name: "fuzz")
    } catch {
      fatalError("no loop: \(error)")
    }
    let port = upstream.port
    let redirector = Redirector(behavior: .modify { _, request, _ in Self.onLoopback(request, port) })
    var configuration = Self.configuration
    session = Session(
      loop: loop, shared: DestinationTable(), configuration: configuration, redirectHandler: redirector)
    configuration.httpCookieStorage = cookies
    configuration.urlCache = URLCache(memoryCapacity: 64 << 10, diskCapacity: 0, diskPath: nil)
    remembering = Session(
      loop: loop, shared: DestinationTable(), configuration: configuration, redirectHandler: redirector)
    upstream.turn = { [loop] in
      let done = DispatchSemaphore(value: 0)
      loop.post { done.signal() }
      done.wait()
    }
    upstream.poll.watch(bell) { [bell] in
      var value: UInt64 = 0
      _ = read(bell, &value, 8)
    }
  }

  private static var configuration: SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.handlerExecution = .eventLoop
    configuration.httpMaximumConnectionsPerHost = 2
    configuration.maximumResponseSize = 2048
    configuration.maximumHeaderSize = 1024
    configuration.maximumDecompressedSize = 64 << 10
    configuration.maximumRedirects = 3
    return configuration
  }

  func check(_ input: FuzzInput) {
    upstream.load(input)
    let session = input.options & 128 == 0 ? self.session : remembering
    for (index, method) in input.methods.enumerated() {
      let answer = Answer(bell)
      let request = session.request(url("/fuzz/\(index)"), method: Self.methods[method]) {
        if method == 2 { $0.httpBody = Data([1]) }
      }
      prepare(request, input.options)
      respond(to: request, input.options & 3, answer)
      upstream.serve { answer.current.isOver }
    }
    checkOwnAnswer(session)
    checkCookies()
    descriptors.check(limit: 64)
  }

  private static let methods: [HTTPMethod] = [.get, .head, .post, .put]

  /// What is kept can be saved and loaded.
  private func checkCookies() {
    guard !cookies.cookies.isEmpty else { return }
    do {
      try CookieStorage().load(json: try cookies.json())
    } catch {
      fatalError("\(cookies.cookies): \(error)")
    }
  }

  private func checkOwnAnswer(_ session: Session) {
    count += 1
    let path = "/own/\(count)"
    let answer = Answer(bell)
    // Not looked up: who waits for a worker looks as if nothing more came, and the upstream cuts its connections.
    let request = session.request(url(path)) { $0.cachePolicy = .reloadIgnoringLocalCacheData }
    request.response { answer.end($0.response?.statusCode, $0.data, $0.error) }
    upstream.serve { answer.current.isOver }
    let value = answer.current
    guard value.error == nil, value.status == 200, value.body == Data(path.utf8) else {
      fatalError("\(path) got \(value)")
    }
  }

  private func prepare(_ request: DataRequest, _ options: UInt8) {
    if options & 4 != 0 { request.validate() }
    if options & 8 != 0 { request.redirect(using: .doNotFollow) }
    if options & 48 != 0 {
      request.onHTTPResponse { _, decide in decide(options & 32 != 0 ? .cancel : .allow) }
    }
    guard options & 64 == 0 else { return }
    request.retry(using: Retrier { request, _, _, decide in decide(request.retryCount < 1 ? .retry : .doNotRetry) })
  }

  private func respond(to request: DataRequest, _ serializer: UInt8, _ answer: Answer) {
    switch serializer {
    case 0: request.responseData { answer.end($0.response?.statusCode, $0.data, $0.error) }
    case 1: request.responseString { answer.end($0.response?.statusCode, $0.data, $0.error) }
    case 2:
      request.responseDecodable(of: [String: Int].self) { answer.end($0.response?.statusCode, $0.data, $0.error) }
    default: request.response { answer.end($0.response?.statusCode, $0.data, $0.error) }
    }
  }

  private func url(_ path: String) -> String { "http://127.0.0.1:\(upstream.port)\(path)" }

  /// No redirect leaves this machine: another origin is the same upstream by another address. What isn't HTTP is
  /// refused by the session.
  private static func onLoopback(_ request: URLRequest, _ port: Int) -> URLRequest? {
    guard let url = request.url else { return nil }
    let scheme = url.scheme?.lowercased()
    if scheme != "http", scheme != "https" { return request }
    if url.absoluteString.hasPrefix("http://127.0.0.1:\(port)/") { return request }
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return nil }
    (parts.scheme, parts.user, parts.password) = ("http", nil, nil)
    (parts.host, parts.port) = ("127.0.0.2", port)
    guard let other = parts.url, other.absoluteString.hasPrefix("http://127.0.0.2:\(port)/") else { return nil }
    var request = request
    request.url = other
    return request
  }
}

/// What came of a request.
private final class Answer: Sendable {
  struct Value {
    var isOver = false
    var status: Int?
    var body: Data?
    var error: WeirError?
  }

  private let value = Mutex(Value())
  private let bell: CInt

  init(_ bell: CInt) {
    self.bell = bell
  }

  var current: Value { value.withLock { $0 } }

  func end(_ status: Int?, _ body: Data?, _ error: WeirError?) {
    let wasOver = value.withLock { value in
      defer { value = Value(isOver: true, status: status, body: body, error: error) }
      return value.isOver
    }
    guard !wasOver else { fatalError("a request ended twice") }
    var one: UInt64 = 1
    _ = write(bell, &one, 8)
  }
}

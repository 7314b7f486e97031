import Foundation
import FoundationNetworking
import Weir
import WeirAlamofire

/// The listings of articles that are in no other example.
enum FirstRequest {
  final class Weather: Sendable {
    struct Report: Decodable, Sendable { let celsius: Double }

    private let base: String
    private let session: Session

    init(base: String) {
      self.base = base
      session = Session(configuration: .server, interceptor: RetryPolicy.recommended())
    }

    func report(of city: String) async throws -> Report {
      try await session.request("\(base)/report", parameters: ["city": city])
        .validate()
        .serializingDecodable(Report.self).value
    }
  }
}

final class Deaf: EventMonitor {
  // Takes Foundation's task, and so is no method of EventMonitor: nobody calls it.
  func urlSession(_ session: Session, task: URLSessionTask, didCompleteWithError error: (any Error)?) {}
}

struct Listings {
  func explain(_ request: DataRequest) async -> String {
    let response = await request.validate().serializingData().response
    switch response.result {
    case .success(let body): return "\(body.count) bytes\n\(response.timeline)"
    case .failure(let error): return request.failureDescription(of: error)
    }
  }

  func limits() -> SessionConfiguration {
    var configuration = SessionConfiguration.server
    configuration.timeouts = Timeouts(
      total: .seconds(10), connect: .seconds(2), silence: .seconds(5), attempt: .seconds(3))
    configuration.admissionTimeout = 1
    return configuration
  }

  func slowReport(_ session: Session) async throws -> Data {
    try await session.request("https://reports.example/yearly").deadline(.seconds(120)).validate()
      .serializingData().value
  }

  func steered() -> Session {
    var configuration = SessionConfiguration.default
    configuration.timeoutIntervalForResource = 10
    configuration.attemptTimeout = 3
    configuration.circuitBreaker = CircuitBreaker(failureRatio: 0.5, minimumRequests: 20)
    configuration.announcesAttempts = .standard
    return Session(configuration: configuration, interceptor: RetryPolicy.recommended())
  }

  func ifUnsent() -> RetryPolicy {
    RetryPolicy(
      retryableHTTPMethods: [.post, .patch], retryableHTTPStatusCodes: [],
      retryableURLErrorCodes: [.cannotConnectToHost, .cannotFindHost], jitter: .full, name: "unsent")
  }

  func counting(_ count: @escaping @Sendable () -> Void) -> ClosureEventMonitor {
    let monitor = ClosureEventMonitor()
    monitor.requestDidFinish = { _ in count() }
    return monitor
  }

  func cookies(_ file: URL) throws -> Session {
    let cookies = CookieStorage()
    var configuration = SessionConfiguration.default
    configuration.httpCookieStorage = cookies
    let session = Session(configuration: configuration)
    try cookies.json().write(to: file)  // json(includingSessionCookies: false): only those with an expiry
    try cookies.load(json: Data(contentsOf: file))  // adds those that are good still; throws if one is no cookie
    return session
  }

  func cache() -> Session {
    var configuration = SessionConfiguration.default
    configuration.urlCache = URLCache(memoryCapacity: 16 << 20, diskCapacity: 0, diskPath: nil)
    let session = Session(configuration: configuration)
    return session
  }

  func cache(_ configuration: SessionConfiguration, _ url: String) {
    let session = Session(configuration: configuration, cachedResponseHandler: .doNotCache)
    session.request(url).cacheResponse(using: .modify { _, response in response })
  }

  func price(_ url: String, completion: @escaping @Sendable (Result<Double, AFError>) -> Void) {
    AF.request(url).validate().responseDecodable(of: Double.self) { response in
      completion(response.result)
    }
  }
}

final class SlowRequests: EventMonitor {
  private let limit: TimeInterval
  private let tell: @Sendable (String) -> Void

  init(slowerThan limit: TimeInterval, tell: @escaping @Sendable (String) -> Void) {
    self.limit = limit
    self.tell = tell
  }

  var interests: EventInterests { .attempts }

  func requestDidSettle(_ request: Request, outcome: RequestOutcome) {
    guard let duration = request.duration, duration > limit else { return }
    let place = request.destination.map { "\($0)" } ?? "nowhere"
    tell("\(place): \(outcome.rawValue) after \(request.attemptCount) attempts")
  }
}

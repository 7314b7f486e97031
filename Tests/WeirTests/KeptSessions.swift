import Dispatch
import WeirCurl
import WeirTestSupport

@testable import Weir

/// Makes sessions that live as long as this: one that nobody holds ends with its requests.
struct KeptSessions {
  private let sessions = Journal<Session>()

  func callAsFunction(
    _ engine: HTTP1EngineChoice = .standard, _ interceptor: (any RequestInterceptor)? = nil,
    rootQueue: DispatchQueue? = nil
  ) -> Session {
    var configuration = SessionConfiguration.default
    configuration.http1Engine = engine
    let session = Session(configuration: configuration, rootQueue: rootQueue, interceptor: interceptor)
    sessions.append(session)
    return session
  }
}

import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirCurl
import WeirTestSupport

@testable import Weir

@Suite("Times as durations", .timeLimit(.minutes(5)))
struct TimeoutsTests {
  @Test("They read and set the configuration's seconds")
  func both() {
    var configuration = SessionConfiguration.default
    #expect(
      configuration.timeouts == Timeouts(total: .seconds(604_800), connect: .seconds(30), silence: .seconds(60)))
    configuration.timeouts = Timeouts(
      total: .seconds(10), connect: .milliseconds(1_500), silence: .seconds(5), attempt: .milliseconds(250))
    #expect(configuration.timeoutIntervalForResource == 10)
    #expect(configuration.connectTimeout == 1.5)
    #expect(configuration.timeoutIntervalForRequest == 5)
    #expect(configuration.attemptTimeout == 0.25)
    configuration.timeouts.silence = .seconds(7)
    configuration.connectTimeout = 3
    #expect(configuration.timeoutIntervalForResource == 10 && configuration.timeoutIntervalForRequest == 7)
    #expect(
      configuration.timeouts
        == Timeouts(total: .seconds(10), connect: .seconds(3), silence: .seconds(7), attempt: .milliseconds(250)))
  }

  @Test("Nil is no limit, and seconds that are none are read as nil")
  func none() async throws {
    var configuration = SessionConfiguration.default
    configuration.timeouts = Timeouts(total: nil, connect: nil, silence: nil)
    #expect(configuration.timeoutIntervalForResource == .infinity)
    #expect(configuration.attemptTimeout == nil)
    #expect(configuration.timeouts == Timeouts(total: nil, connect: nil, silence: nil))
    let server = try answering(okResponse("fine"))
    for engine in [HTTP1EngineChoice.own, .libcurl] {
      configuration.http1Engine = engine
      let session = Session(configuration: configuration)
      #expect(await session.request(server.url).serializingString().response.value == "fine")
    }
    for seconds in [.nan, -.infinity, 1e300, -1e300] {
      configuration.timeoutIntervalForResource = seconds
      configuration.attemptTimeout = seconds
      #expect(configuration.timeouts.total == nil && configuration.timeouts.attempt == nil)
    }
  }

  @Test("A server's defaults")
  func server() {
    let configuration = SessionConfiguration.server
    #expect(configuration.timeouts == Timeouts(total: .seconds(30), connect: .seconds(5), silence: .seconds(10)))
    #expect(configuration.overload == .default)
    #expect(SessionConfiguration.default.overload == nil)
  }

  @Test("A request's options take durations, and literals stay what they were")
  func options() {
    let request = manualSession.request("http://127.0.0.1:1/")
    request.deadline(.milliseconds(2_500)).attemptTimeout(.seconds(1)).hedge(after: .milliseconds(50), limit: 2)
    request.fields.withLock { fields in
      #expect(fields.deadline == 2.5 && fields.attemptTimeout == 1)
      #expect(fields.hedge == HedgePlan(delay: .seconds(0.05), limit: 2))
    }
    request.deadline(5).attemptTimeout(.zero).hedge(after: .seconds(0.2))
    request.fields.withLock { fields in
      #expect(fields.deadline == 5 && fields.attemptTimeout == 0)
      #expect(fields.hedge == HedgePlan(delay: .seconds(0.2), limit: 1))
    }
    request.hedge(after: .quantile(0.95)).hedge(after: Duration.seconds(3))
    #expect(request.fields.withLock { $0.hedge } == HedgePlan(delay: .seconds(3), limit: 1))
  }
}

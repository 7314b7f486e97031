import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

// Retriers of one's own.
extension RetryTransferTests {
  @Test("Failures of validation, adaptation and creation are put to the retriers too")
  func stages() async throws {
    let server = try ScriptedServer(.answering(okResponse("fine", "Content-Type: text/html\r\n")))
    let asked = Journal<String>()
    let retrier = Retrier { request, _, error, completion in
      asked.append((error as? WeirError)?.label ?? "\(error)")
      completion(request.retryCount < 2 ? .retry : .doNotRetry)
    }
    let session = Session(interceptor: retrier)
    let unacceptable = session.request(server.url).validate(contentType: ["application/json"])
    #expect(await unacceptable.plainResponse().error?.responseContentType == "text/html")
    #expect(unacceptable.tasks.count == 3)
    let failing = session.request(server.url, interceptor: Adapter { $2(.failure(SampleError())) })
    #expect(await failing.plainResponse().error?.isRequestAdaptationError == true)
    #expect(failing.retryCount == 2)
    #expect(failing.tasks.isEmpty)
    let impossible = session.request("")
    #expect(await impossible.plainResponse().error?.isInvalidURLError == true)
    #expect(impossible.retryCount == 2)
    #expect(
      asked.entries
        == ["unacceptable_content_type", "request_adaptation_failed", "invalid_url"].flatMap {
          [$0, $0, $0]
        })
  }

  @Test("A retrier's own error becomes the request's, with the error it was asked about")
  func ownError() async throws {
    let server = try answering(busy)
    let session = Session(interceptor: Retrier { $3(.doNotRetryWithError(SampleError())) })
    let request = session.request(server.url).validate()
    let error = try #require(await request.plainResponse().error)
    guard case .requestRetryFailed(let own, let original) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(own is SampleError)
    #expect((original as? WeirError)?.responseCode == 503)
    #expect(request.outcome == .retryFailed)
  }

  @Test("A retrier that answers twice, and contradicts itself, retries once")
  func twice() async throws {
    let server = try answeringInTurn(busy, okResponse("fine"), okResponse("never"))
    let session = Session(
      interceptor: Retrier { request, _, _, completion in
        DispatchQueue.global().async {
          completion(.retry)
          completion(.retryWithDelay(0))
          completion(.doNotRetry)
        }
      })
    let request = session.request(server.url).validate()
    #expect(await request.serializingString().response.value == "fine")
    await session.loopTurn()
    #expect(request.retryCount == 1)
    #expect(server.allRequests.count == 2)
  }

  @Test("Thousands of retries at once do not grow the stack")
  func manyRetries() async throws {
    let count = 3_000
    var configuration = SessionConfiguration.default
    configuration.retryBudget = nil
    let session = Session(
      configuration: configuration,
      interceptor: Interceptor(
        adapters: [Adapter { $2(.failure(SampleError())) }],
        retriers: [Retrier { $3($0.retryCount < count ? .retry : .doNotRetry) }]))
    let request = session.request("http://127.0.0.1:1/")
    #expect(await request.plainResponse().error?.isRequestAdaptationError == true)
    #expect(request.retryCount == count)
  }
}

import Foundation
import Testing
import Weir
import WeirTestSupport

/// What awaiting a value throws.
@Suite("Errors of awaited values", .timeLimit(.minutes(5)))
struct RequestFailureTests {
  private static func normal(_ text: String) -> String {
    text.replacing(/after \d+\.\d{3} s\)/, with: "after T s)").replacing(/127\.0\.0\.1:\d+/, with: "127.0.0.1:P")
  }

  private static func thrown(_ body: () async throws -> Void) async throws -> any Error {
    do {
      try await body()
    } catch {
      return error
    }
    throw CocoaError(.featureUnsupported)
  }

  @Test("Printed, it names the request, without secrets, the attempts and the cause")
  func texts() async throws {
    let server = try ScriptedServer(.answering(response("503 Busy", body: "s3cret")))
    let session = Session(interceptor: RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0))
    let url = server.url.replacing("http://", with: "http://me:s3cret@") + "s3cret?key=s3cret"
    let error = try await Self.thrown { _ = try await session.request(url).validate().serializingString().value }
    let text = "The response is not acceptable. Its status code is 503. (GET http://127.0.0.1:P, attempt 3, after T s)"
    #expect(Self.normal("\(error)") == "unacceptable_status_code: \(text)")
    #expect(Self.normal(String(reflecting: error)) == "unacceptable_status_code: \(text)")
    #expect(Self.normal(error.localizedDescription) == text)
  }

  @Test("A download's error, too")
  func downloads() async throws {
    let server = try answering(response("404 Not Found"))
    let session = Session()
    let error = try await Self.thrown {
      _ = try await session.download(server.url, method: .post).validate().serializingDownloadedFileURL().value
    }
    #expect(
      Self.normal("\(error)")
        == "unacceptable_status_code: The response is not acceptable. Its status code is 404. "
        + "(POST http://127.0.0.1:P, attempt 1, after T s)")
    #expect((error as? WeirError)?.responseCode == 404)
  }

  @Test("Errors that name their request already name it once; one without an attempt says none")
  func otherTexts() async throws {
    let server = try ScriptedServer(Script(.head, .close))
    let session = Session()
    let lost = try await Self.thrown { _ = try await session.request(server.url).serializingData().value }
    #expect("\(lost)".components(separatedBy: "(GET http://127.0.0.1:").count == 2, "\(lost)")
    let number = try answering(okResponse("seven"))
    let decoding = try await Self.thrown {
      _ = try await session.request(number.url).serializingDecodable(Int.self).value
    }
    #expect(Self.normal("\(decoding)").hasSuffix(" (GET http://127.0.0.1:P, attempt 1, after T s)"), "\(decoding)")
    let adapter = Adapter { $2(.failure(SampleError())) }
    let adapted = try await Self.thrown {
      _ = try await session.request(number.url, interceptor: adapter).serializingData().value
    }
    #expect(Self.normal("\(adapted)").hasSuffix(" (GET http://127.0.0.1:P, after T s)"), "\(adapted)")
    var configuration = SessionConfiguration.default
    configuration.circuitBreaker = CircuitBreaker(minimumRequests: 1)
    let careful = Session(configuration: configuration)
    let busy = try answering(response("503 Busy"))
    _ = await careful.request(busy.url).plainResponse()
    let rejected = try await Self.thrown { _ = try await careful.request(busy.url).serializingData().value }
    #expect(
      Self.normal("\(rejected)").hasSuffix(" circuitBreaker.failureRatio: 0.5. (GET http://127.0.0.1:P, after T s)"),
      "\(rejected)")
  }

  @Test("Casts and patterns find the WeirError")
  func patterns() async throws {
    let server = try answering(response("404 Not Found"))
    let session = Session()
    let task = session.request(server.url).validate().serializingData()
    var found: [String] = []
    do {
      _ = try await task.value
    } catch WeirError.responseValidationFailed(reason: .unacceptableStatusCode(let code)) {
      found.append("pattern \(code)")
    }
    do {
      _ = try await task.value
    } catch let error as WeirError {
      found.append("cast \(error.responseCode ?? 0)")
    }
    do {
      _ = try await task.value
    } catch WeirError.explicitlyCancelled {
      found.append("the wrong pattern")
    } catch  where error.asWeirError?.isResponseValidationError == true {
      found.append("property")
    }
    #expect(found == ["pattern 404", "cast 404", "property"])
    let error = try await Self.thrown { _ = try await task.value }
    #expect(error is WeirError)
    #expect(!(error is URLError))
    #expect((error as? RequestFailure)?.error.responseCode == 404)
    let result = Result<Int, any Error>.failure(error)
    guard case .failure(WeirError.responseValidationFailed) = result else {
      Issue.record("a result's error is another one")
      return
    }
  }

  @Test("A WeirError by itself stays what it is")
  func alone() {
    let error: any Error = WeirError.explicitlyCancelled
    #expect("\(error)" == "explicitly_cancelled: The request was cancelled.")
    #expect("\(type(of: error))" == "WeirError")
    #expect("\((error as? RequestFailure)?.description ?? "")" == "\(error)")
  }

  @Test func cancelled() async throws {
    let hole = try BlackHole()
    let session = Session()
    let task = session.request(hole.url).serializingData()
    task.cancel()
    await #expect { try await task.value } throws: { $0.asWeirError?.isExplicitlyCancelledError == true }
  }
}

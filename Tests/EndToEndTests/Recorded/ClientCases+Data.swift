import Foundation
import Weir
import WeirTestSupport

/// The kind of value that the cases decode.
private struct Price: Decodable, Sendable { let amount: Int }

extension ClientCase {
  static let ok = "HTTP/1.1 200 OK|Content-Length: 2||ok"
  static let busy = "HTTP/1.1 503 Busy|Content-Length: 4||busy"

  /// Retries at once, in the policy's own way.
  static func retries(_ limit: UInt = 2) -> RetryPolicy {
    RetryPolicy(retryLimit: limit, exponentialBackoffScale: 0.001)
  }

  /// Data requests that run to their end.
  static let data: [ClientCase] = successes + failures + retried

  private static let successes = [
    ClientCase("data", .answers(ok)) { stage in
      stage.note(await stage.session().request(stage.url).serializingString().response.result)
    },
    ClientCase("data with a validation and a head", .answers(ok)) { stage in
      let request = stage.session().request(stage.url, method: .put, headers: ["X-Own": "1"]).validate()
      stage.note(await request.serializingData().response.result)
    },
    ClientCase(
      "data decoded", .answers("HTTP/1.1 200 OK|Content-Type: application/json|Content-Length: 12||{\"amount\":3}")
    ) {
      stage in
      let task = stage.session().request(stage.url, parameters: ["a": "b c"]).serializingDecodable(Price.self)
      stage.note(await task.response.result.map(\.amount))
    },
    ClientCase(
      "data of gzip",
      .answers(
        "HTTP/1.1 200 OK|Content-Encoding: gzip|Content-Length: 22||"
          + "\u{1F}\u{8B}\u{08}\u{00}\u{00}\u{00}\u{00}\u{00}\u{00}\u{03}\u{CB}\u{CF}\u{06}\u{00}"
          + "\u{47}\u{DD}\u{DC}\u{79}\u{02}\u{00}\u{00}\u{00}")
    ) { stage in
      stage.note(await stage.session().request(stage.url).serializingString().response.result)
    },
    ClientCase("two requests on a connection", .answers(ok)) { stage in
      let session = stage.session()
      for path in ["a", "b"] {
        stage.note(await session.request(stage.url + path).serializingData().response.result)
      }
    },
    ClientCase("a redirect", .inTurn("HTTP/1.1 302 Found|Location: /next|Content-Length: 0||", ok)) { stage in
      stage.note(await stage.session().request(stage.url).serializingString().response.result)
    },
    ClientCase("a redirect that is not followed", .inTurn("HTTP/1.1 301 Moved|Location: /next|Content-Length: 0||")) {
      stage in
      let request = stage.session().request(stage.url).redirect(using: .doNotFollow)
      stage.note("\(await request.serializingData(emptyResponseCodes: [301]).response.response?.statusCode ?? 0)")
    },
    ClientCase("too many redirects", .answers("HTTP/1.1 302 Found|Location: /next|Content-Length: 0||")) { stage in
      let session = stage.session { $0.maximumRedirects = 2 }
      stage.note(await session.request(stage.url).serializingData().response.result)
    },
    ClientCase("a late handler", .answers(ok)) { stage in
      let request = stage.session().request(stage.url)
      stage.note(await request.serializingData().response.result)
      try await stage.events.wait(for: "didSettle")
      stage.note(await request.serializingString().response.result)
    },
    ClientCase("suspended and resumed", Script(.head, .wait(resumed), .send(WireCase.bytes(ok)), .awaitClose)) {
      stage in
      let request = stage.session().request(stage.url)
      let task = request.serializingString()
      try await stage.events.wait(for: "connection opened")
      request.suspend()
      try await stage.events.wait(for: "didSuspendTask")
      request.resume()
      try await stage.events.wait(for: "didResumeTask", count: 2)
      resumed.open()
      stage.note(await task.response.result)
    },
    ClientCase("from the cache", .answers("HTTP/1.1 200 OK|Cache-Control: max-age=60|Content-Length: 2||ok")) { stage in
      let session = stage.session { $0.urlCache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil) }
      stage.note(await session.request(stage.url).serializingString().response.result)
      stage.note(await session.request(stage.url).serializingString().response.result)
    },
    ClientCase("a second attempt that wins", Script(.head, .awaitClose), .answers(ok)) { stage in
      let request = stage.session().request(stage.url).hedge(after: .seconds(0.2))
      stage.note(await request.serializingString().response.result)
    },
  ]

  private static let resumed = Gate()

  private static let failures = [
    ClientCase("an error status", .answers("HTTP/1.1 404 No|Content-Length: 2||no")) { stage in
      stage.note(await stage.session().request(stage.url).serializingString().response.result)
    },
    ClientCase("a validation that fails", .answers("HTTP/1.1 404 No|Content-Length: 2||no")) { stage in
      stage.note(await stage.session().request(stage.url).validate().serializingString().response.result)
    },
    ClientCase("a decoding that fails", .answers(ok)) { stage in
      stage.note(
        await stage.session().request(stage.url).serializingDecodable(Price.self).response.result.map(\.amount))
    },
    ClientCase("an invalid URL", .answers(ok)) { stage in
      stage.note(await stage.session().request("no url at all").serializingData().response.result)
    },
    ClientCase("a body of a GET", .answers(ok)) { stage in
      let request = stage.session().request(stage.url) { $0.httpBody = Data([1]) }
      stage.note(await request.serializingData().response.result)
    },
    ClientCase("an adapter that fails", .answers(ok)) { stage in
      let session = stage.session(Adapter({ $2(.failure(URLError(.userAuthenticationRequired))) }, name: "token"))
      stage.note(await session.request(stage.url).serializingData().response.result)
    },
    ClientCase("an adapter that answers", .answers(ok)) { stage in
      let adapter = Adapter(
        { request, _, completion in
          var request = request
          request.setValue("1", forHTTPHeaderField: "X-Adapted")
          completion(.success(request))
        }, name: "stamp")
      stage.note(await stage.session(adapter).request(stage.url).serializingData().response.result)
    },
    ClientCase("no connection") { stage in
      stage.note(await stage.session().request(stage.url).serializingData().response.result)
    },
    ClientCase("a body that is cut", .once("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")) { stage in
      stage.note(await stage.session().request(stage.url).serializingData().response.result)
    },
    ClientCase("a silence that is too long", Script(.head, .awaitClose)) { stage in
      let session = stage.session { $0.timeoutIntervalForRequest = 0.2 }
      stage.note(await session.request(stage.url).serializingData().response.result)
    },
    ClientCase("a deadline", Script(.head, .awaitClose)) { stage in
      stage.note(await stage.session().request(stage.url).deadline(0.2).serializingData().response.result)
    },
  ]

  private static let retried = [
    ClientCase("a retry that succeeds", .inTurn(busy, ok)) { stage in
      stage.note(await stage.session(retries()).request(stage.url).validate().serializingString().response.result)
    },
    ClientCase("a retry after a time", .inTurn("HTTP/1.1 503 Busy|Retry-After: 0|Content-Length: 0||", ok)) { stage in
      stage.note(await stage.session(retries()).request(stage.url).validate().serializingString().response.result)
    },
    ClientCase("retries that are used up", .inTurn(busy, busy)) { stage in
      stage.note(await stage.session(retries(1)).request(stage.url).validate().serializingString().response.result)
    },
    ClientCase("a method that is not retried", .inTurn(busy)) { stage in
      let request = stage.session(retries()).request(stage.url, method: .post)
      stage.note(await request.validate().serializingString().response.result)
    },
    ClientCase("a budget that is used up", .inTurn(busy, busy)) { stage in
      let session = stage.session(retries()) {
        $0.retryBudget = RetryBudget(ratio: 0, minimumPerSecond: 0, burst: 1, window: 60)
      }
      stage.note(await session.request(stage.url).validate().serializingString().response.result)
    },
    ClientCase("a retrier that fails", .inTurn(busy)) { stage in
      let session = stage.session(Retrier { $3(.doNotRetryWithError(URLError(.dataNotAllowed))) })
      stage.note(await session.request(stage.url).validate().serializingString().response.result)
    },
    ClientCase("a decoding that is retried", .inTurn(ok, ok)) { stage in
      let session = stage.session(Retrier { $3($0.retryCount == 0 ? .retry : .doNotRetry) })
      stage.note(await session.request(stage.url).serializingDecodable(Price.self).response.result.map(\.amount))
    },
    ClientCase("an open circuit", .answers("HTTP/1.1 500 No|Content-Length: 2||no")) { stage in
      let session = stage.session { $0.circuitBreaker = CircuitBreaker(minimumRequests: 1) }
      stage.note(await session.request(stage.url).serializingString().response.result)
      stage.note(await session.request(stage.url).serializingString().response.result)
    },
  ]
}

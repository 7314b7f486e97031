import Testing
import Weir
import WeirTestSupport

/// Bodies in every coding and length, statuses, retries, timeouts.
@Suite(.needs(.gunicorn)) struct BinResponseTests {
  // MARK: Bodies

  @Test(arguments: [("gzip", "gzipped"), ("deflate", "deflated")])
  func codingsAreDecoded(coding: String, key: String) async throws {
    let client = try MeasuredSession()
    let response = await client.get(try await Bin.url("/\(coding)"))
    let object = try JSONSerialization.jsonObject(with: try response.result.get()) as? [String: Any]
    #expect(object?[key] as? Bool == true)
    #expect(response.response?.headers["Content-Encoding"] == coding)
    let metrics = try #require(response.metrics)
    #expect(metrics.bytesDecoded > metrics.bytesReceivedOnWire)
    #expect(
      client.sum("weir_response_decoded_bytes_total", ["content_encoding": coding])
        == Double(response.value?.count ?? 0))
  }

  @Test func aCodingThatWasNotAskedForIsPassedOn() async throws {
    let client = try MeasuredSession()
    let response = await client.get(try await Bin.url("/brotli"))
    #expect(response.response?.headers["Content-Encoding"] == "br")
    #expect(response.value?.first != UInt8(ascii: "{"))
    let length = try #require(response.response?.headers["Content-Length"])
    #expect(response.value?.count == Int(length))
  }

  @Test func chunkedBodiesArriveWhole() async throws {
    let client = try MeasuredSession()
    let url = try await Bin.url("/stream-bytes/100000?seed=7&chunk_size=777")
    let (first, second) = (await client.get(url), await client.get(url))
    #expect(first.value?.count == 100_000)
    #expect(first.value == second.value)
    #expect(first.response?.headers["Transfer-Encoding"] == "chunked")
    #expect(first.metrics?.bytesReceivedOnWire == 100_000)
    let lines = try await client.text(try await Bin.url("/stream/50")).split(separator: "\n")
    #expect(lines.count == 50)
    #expect(client.sum("weir_connections_opened_total") == 1)
  }

  @Test func aSlowBodyIsNoSilence() async throws {
    let client = try MeasuredSession { $0.timeoutIntervalForRequest = 1.5 }
    let response = await client.get(try await Bin.url("/drip?duration=2&numbytes=20&delay=0"))
    #expect(response.value == Data(repeating: UInt8(ascii: "*"), count: 20), "\(response)")
    #expect(try #require(response.metrics?.transfer) > 1.5)
  }

  @Test func textIsReadInItsCharset() async throws {
    let client = try MeasuredSession()
    #expect(try await client.text(try await Bin.url("/encoding/utf8")).contains("∮ E⋅da = Q"))
    let length = try #require(await client.get(try await Bin.url("/image/png")).value?.count)
    #expect(length > 1000)
  }

  // MARK: Validation

  @Test func anUnwantedTypeIsRefused() async throws {
    let client = try MeasuredSession()
    let response = await client.session.request(try await Bin.url("/xml"))
      .validate(contentType: ["application/json"]).serializingData().response
    #expect(response.error?.isResponseValidationError == true)
    #expect(response.error?.responseContentType == "application/xml")
    #expect(client.sum("weir_requests_total", ["outcome": "validation_failed"]) == 1)
  }

  @Test func anEmptyAnswerMayBeExpected() async throws {
    let client = try MeasuredSession()
    let response = await client.session.request(try await Bin.url("/status/204")).validate()
      .serializingDecodable(Empty.self).response
    #expect(response.value == Empty.value, "\(response)")
  }

  // MARK: Retries

  @Test(arguments: [
    (HTTPMethod.get, 503, 3), (.get, 500, 3), (.get, 408, 3), (.get, 404, 1), (.get, 429, 1), (.put, 502, 3),
    (.delete, 504, 3), (.post, 503, 1), (.patch, 503, 1),
  ])
  func whatIsRetried(method: HTTPMethod, status: Int, attempts: Int) async throws {
    let client = try MeasuredSession(interceptor: RetryPolicy(exponentialBackoffScale: 0.01))
    let request = client.session.request(try await Bin.url("/status/\(status)"), method: method).validate()
    let response = await request.serializingData().response
    #expect(response.error?.responseCode == status, "\(response)")
    #expect(request.retryCount == attempts - 1)
    #expect(request.allMetrics.count == attempts)
    #expect(client.sum("weir_attempts_started_total") == Double(attempts))
    #expect(client.sum("weir_retries_total", ["reason": "\(status)"]) == Double(attempts - 1))
    #expect(client.sum("weir_retry_delay_seconds_count", ["source": "backoff"]) == Double(attempts - 1))
    let reason = attempts == 3 ? "limit" : method == .post || method == .patch ? "method" : "policy"
    #expect(client.sum("weir_retries_denied_total", ["reason": reason]) == 1)
    #expect(client.sum("weir_retries_denied_total") == 1)
    let status = ["http_response_status_code": "\(status)", "http_request_method": method.rawValue]
    #expect(client.sum("http_client_request_duration_seconds_count", status) == Double(attempts))
    #expect(client.sum("weir_requests_total", ["outcome": "http_error"]) == 1)
    #expect(client.sum("weir_requests_total") == 1)
  }

  @Test func whatIsNotValidatedIsNotRetried() async throws {
    let client = try MeasuredSession(interceptor: RetryPolicy(exponentialBackoffScale: 0.01))
    let response = await client.session.request(try await Bin.url("/status/503")).serializingData(
      emptyResponseCodes: [503]
    ).response
    #expect(response.statusCode == 503)
    #expect(response.error == nil)
    #expect(client.sum("weir_attempts_started_total") == 1)
    #expect(client.sum("weir_requests_total", ["outcome": "http_error"]) == 1)
  }

  // MARK: Timeouts

  @Test func silenceTimesOutAndIsRetried() async throws {
    let client = try MeasuredSession(interceptor: RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0.01)) {
      $0.timeoutIntervalForRequest = 1.2
    }
    let response = await client.get(try await Bin.url("/delay/3"))
    #expect(response.urlErrorCode == .timedOut, "\(response)")
    #expect(client.sum("weir_attempts_started_total") == 2)
    #expect(client.sum("weir_requests_total", ["outcome": "timeout"]) == 1)
    // What timed out can't be used again.
    #expect(client.sum("http_client_open_connections") == 0)
    #expect(client.sum("weir_connections_opened_total") == 2)
  }

  @Test func theDeadlineCoversAllAttempts() async throws {
    let client = try MeasuredSession(interceptor: RetryPolicy(retryLimit: 100, exponentialBackoffScale: 0.05)) {
      $0.timeoutIntervalForResource = 3
    }
    let url = try await Bin.url("/status/503")
    let start = ContinuousClock.now
    let response = await client.session.request(url).validate().serializingData().response
    // Either the deadline passes in an attempt, or the next delay would pass it.
    #expect(response.urlErrorCode == .timedOut || response.error?.responseCode == 503, "\(response)")
    #expect(ContinuousClock.now - start < .seconds(15))
    let denied = client.sum("weir_retries_denied_total", ["reason": "deadline"])
    #expect(denied == (response.urlErrorCode == .timedOut ? 0 : 1))
    #expect(client.sum("weir_retries_total") >= 1)
  }

  @Test func aDeadlineEndsAnAttempt() async throws {
    let client = try MeasuredSession { $0.timeoutIntervalForResource = 0.4 }
    let response = await client.get(try await Bin.url("/delay/3"))
    #expect(response.urlErrorCode == .timedOut, "\(response)")
    #expect(client.sum("weir_requests_total", ["outcome": "timeout"]) == 1)
  }

  @Test func theServersTimeIsProcessing() async throws {
    let client = try MeasuredSession()
    let metrics = try #require(await client.get(try await Bin.url("/delay/2")).metrics)
    #expect(try #require(metrics.processing) >= 1)
    #expect(try #require(metrics.send) < 1)
    #expect(try #require(metrics.total) >= (try #require(metrics.processing)))
  }
}

import Foundation
import FoundationNetworking
import Testing

@testable import Weir

@Suite struct ResponseTests {
  static let metrics = TransferMetrics(AttemptReport(), taskInterval: TransferMetricsTests.interval)
  static let timeline = Timeline(requestStartTime: 1)

  static func data<S, F>(
    _ result: Result<S, F>, request: URLRequest? = nil, fields: String? = nil, body: String? = nil
  ) throws -> DataResponse<S, F> {
    DataResponse(
      request: request, response: try fields.flatMap { try LazyHTTPResponseTests.response($0, status: 418).response },
      data: body.map { Data($0.utf8) }, metrics: metrics, serializationDuration: 0.5, result: result,
      timeline: timeline)
  }

  static func download<S, F>(_ result: Result<S, F>, request: URLRequest? = nil) throws -> DownloadResponse<S, F> {
    DownloadResponse(
      request: request, response: try LazyHTTPResponseTests.response("", status: 206).response,
      fileURL: URL(fileURLWithPath: "/f"), resumeData: Data([1, 2]), metrics: metrics, serializationDuration: 0.5,
      result: result, timeline: timeline)
  }

  static func expectKept<S, F>(_ response: DataResponse<S, F>) {
    #expect(response.request?.url?.host == "h")
    #expect(response.response?.statusCode == 418)
    #expect(response.data == Data("b".utf8))
    #expect(response.metrics == metrics)
    #expect(response.serializationDuration == 0.5)
    #expect(response.timeline == timeline)
  }

  static func expectKept<S, F>(_ response: DownloadResponse<S, F>) {
    #expect(response.request?.url?.host == "h")
    #expect(response.response?.statusCode == 206)
    #expect(response.fileURL?.path == "/f")
    #expect(response.resumeData == Data([1, 2]))
    #expect(response.metrics == metrics)
    #expect(response.serializationDuration == 0.5)
    #expect(response.timeline == timeline)
  }

  @Test func dataTransforms() throws {
    let request = try URLRequest(url: "http://h/", method: .get)
    let success = try Self.data(WeirResult<Int>.success(1), request: request, fields: "", body: "b")
    let failure = try Self.data(WeirResult<Int>.failure(.explicitlyCancelled), request: request, fields: "", body: "b")
    Self.expectKept(success)
    #expect(success.value == 1)
    #expect(success.error == nil)
    #expect(failure.value == nil)
    #expect(failure.error?.isExplicitlyCancelledError == true)

    Self.expectKept(success.map { "\($0)" })
    #expect(success.map { "\($0)" }.value == "1")
    #expect(failure.map { "\($0)" }.error?.isExplicitlyCancelledError == true)

    #expect(success.tryMap { $0 + 1 }.value == 2)
    #expect(success.tryMap { _ -> Int in throw SampleError() }.error is SampleError)
    Self.expectKept(success.tryMap { _ -> Int in throw SampleError() })
    #expect(failure.tryMap { _ -> Int in throw SampleError() }.error is WeirError)

    #expect(failure.mapError { _ in SampleError() }.error == SampleError())
    #expect(success.mapError { _ in SampleError() }.value == 1)
    Self.expectKept(failure.mapError { _ in SampleError() })

    #expect(failure.tryMapError { _ in SampleError() }.error is SampleError)
    #expect(failure.tryMapError { _ -> SampleError in throw OtherError() }.error is OtherError)
    #expect(success.tryMapError { _ in SampleError() }.value == 1)
  }

  @Test func downloadTransforms() throws {
    let request = try URLRequest(url: "http://h/", method: .get)
    let success = try Self.download(WeirResult<Int>.success(1), request: request)
    let failure = try Self.download(WeirResult<Int>.failure(.explicitlyCancelled), request: request)
    Self.expectKept(success)
    Self.expectKept(success.map { "\($0)" })
    #expect(success.map { "\($0)" }.value == "1")
    #expect(success.tryMap { _ -> Int in throw SampleError() }.error is SampleError)
    Self.expectKept(failure.mapError { _ in SampleError() })
    #expect(failure.mapError { _ in SampleError() }.error == SampleError())
    #expect(failure.tryMapError { _ -> SampleError in throw OtherError() }.error is OtherError)
  }

  @Test func lazyResponsesAreBuiltWhenRead() throws {
    let lazy = try LazyHTTPResponseTests.response("A: 1\r\n", status: 201)
    let response = DataResponse<Int, WeirError>(
      contents: ResponseContents(hop: nil, head: lazy, data: nil, metrics: nil), serializationDuration: 0,
      result: .success(1), timeline: Timeline())
    let mapped = response.map { $0 + 1 }
    #expect(!lazy.isBuilt)
    #expect(mapped.response?.value(forHTTPHeaderField: "A") == "1")
    #expect(lazy.isBuilt)
    #expect(response.response === mapped.response)
  }

  @Test func descriptionIsTheResults() throws {
    #expect(try Self.data(WeirResult<Int>.success(1)).description == "success(1)")
    #expect(try Self.download(WeirResult<String>.success("x")).description == #"success("x")"#)
    let failure = try Self.data(WeirResult<Int>.failure(.invalidURL(url: "http://u:secret@[x")))
    #expect(failure.description.hasPrefix("failure(invalid_url: "))
    #expect(!failure.description.contains("secret"))
  }

  @Test func debugDescriptionWithoutRequest() throws {
    let response = try Self.data(WeirResult<Int>.success(1), fields: "")
    #expect(response.debugDescription == "[Request]: None\n[Result]: success(1)")
  }

  @Test func debugDescriptionOfData() throws {
    var request = try URLRequest(
      url: "http://user:pw@h/p", method: .post,
      headers: ["Content-Type": "application/json", "Authorization": "Bearer token", "A": "1"])
    request.httpBody = Data(" {\"a\":\n1}\n".utf8)
    let fields = "Content-Type: text/plain\r\nSet-Cookie: crumb\r\n"
    let response = try Self.data(WeirResult<Int>.success(1), request: request, fields: fields, body: "hello")
    #expect(
      response.debugDescription == """
        [Request]: POST http://<redacted>@h/p
            [Headers]:
                A: 1
                Authorization: <redacted>
                Content-Type: application/json
            [Body]:
                {"a":
                1}
        [Response]:
            [Status Code]: 418
            [Headers]:
                Content-Type: text/plain
                Set-Cookie: <redacted>
            [Body]:
                hello
        [Network Duration]: 2.0s
        [Serialization Duration]: 0.5s
        [Result]: success(1)
        """)
  }

  @Test func debugDescriptionOfLittle() throws {
    let request = try URLRequest(url: "http://h/", method: .get)
    let response = DataResponse<Int, WeirError>(
      request: request, response: nil, data: nil, metrics: nil, serializationDuration: 0,
      result: .failure(.explicitlyCancelled))
    #expect(
      response.debugDescription == """
        [Request]: GET http://h/
            [Headers]: None
            [Body]: None
        [Response]: None
        [Network Duration]: None
        [Serialization Duration]: 0.0s
        [Result]: failure(explicitly_cancelled: The request was cancelled.)
        """)
  }

  @Test func debugDescriptionOfADownload() throws {
    let response = try Self.download(
      WeirResult<Int>.success(1), request: try URLRequest(url: "http://h/", method: .get))
    #expect(
      response.debugDescription == """
        [Request]: GET http://h/
            [Headers]: None
            [Body]: None
        [Response]:
            [Status Code]: 206
            [Headers]: None
        [File URL]: /f
        [Resume Data]: 2 bytes
        [Network Duration]: 2.0s
        [Serialization Duration]: 0.5s
        [Result]: success(1)
        """)
  }

  @Test(arguments: [
    ("application/json", 3, "[Body]:\n        aaa"), ("text/html", 3, "[Body]:\n        aaa"),
    ("image/svg+XML", 3, "[Body]:\n        aaa"), ("image/png", 3, "[Body]: 3 bytes"),
    ("", 3, "[Body]: 3 bytes"), ("text/plain", 100_001, "[Body]: 100001 bytes"), ("text/plain", 0, "[Body]: None"),
  ])
  func bodies(type: String, count: Int, text: String) throws {
    let request = try URLRequest(url: "http://h/", method: .get)
    let response = try Self.data(
      WeirResult<Int>.success(1), request: request, fields: "Content-Type: \(type)\r\n",
      body: String(repeating: "a", count: count))
    #expect(response.debugDescription.contains("    \(text)\n"))
  }
}

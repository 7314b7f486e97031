import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirCompression
import WeirTestSupport

@testable import Weir

@Suite("§21 Request compressors", .timeLimit(.minutes(5)))
struct RequestCompressorTests {
  typealias Behavior = DeflateRequestCompressor.DuplicateHeaderBehavior

  private static let body = Data(String(repeating: "weir steers and measures. ", count: 100).utf8)

  private static func request(_ body: Data?, encoding: String? = nil) throws -> URLRequest {
    var request = try URLRequest(url: "http://h/", method: .post)
    request.httpBody = body
    if let encoding { request.setValue(encoding, forHTTPHeaderField: "Content-Encoding") }
    return request
  }

  /// What an adapter answers, which may be later.
  private static func adapted(
    _ request: URLRequest, by adapter: any RequestInterceptor, in session: Session = Session()
  ) async throws -> URLRequest {
    try await withCheckedThrowingContinuation { continuation in
      adapter.adapt(request, for: session) { continuation.resume(with: $0) }
    }
  }

  private static func inflated(_ body: Data?, _ coding: ContentCoding) throws -> Data {
    Data(try Compression.inflate(Array(try #require(body)), coding, limits: .unlimited))
  }

  @Test("deflate is zlib's format: 78 5E, deflate, Adler-32")
  func zlib() async throws {
    let adapted = try await Self.adapted(Self.request(Data("Wikipedia".utf8)), by: .deflateCompressor)
    let bytes = Array(try #require(adapted.httpBody))
    #expect(bytes.prefix(2) == [0x78, 0x5E])
    // The well-known checksum of that word.
    #expect(bytes.suffix(4) == [0x11, 0xE6, 0x03, 0x98])
    #expect(try Self.inflated(adapted.httpBody, .deflate) == Data("Wikipedia".utf8))
    #expect(try Self.inflated(Data(bytes.dropFirst(2).dropLast(4)), .deflate) == Data("Wikipedia".utf8))
    #expect(adapted.headers["Content-Encoding"] == "deflate")
  }

  @Test("gzip is gzip's")
  func gzip() async throws {
    let adapted = try await Self.adapted(Self.request(Self.body), by: .gzipCompressor)
    #expect(adapted.httpBody?.prefix(4) == Data([0x1F, 0x8B, 8, 0]))
    #expect(try Self.inflated(adapted.httpBody, .gzip) == Self.body)
    #expect((adapted.httpBody?.count ?? .max) < Self.body.count / 10)
    #expect(adapted.headers["Content-Encoding"] == "gzip")
  }

  @Test("Bodies of all sizes; large ones on a worker", arguments: [0, 1, 65_536, 65_537, 2_000_000])
  func sizes(count: Int) async throws {
    let body = MultipartSamples.noise(count, seed: 1)
    for (adapter, format) in [(.deflateCompressor, .deflate), (.gzipCompressor as any RequestInterceptor, .gzip)]
      as [(any RequestInterceptor, ContentCoding)]
    {
      let adapted = try await Self.adapted(Self.request(body), by: adapter)
      #expect((adapted.httpBody?.prefix(2) == Data([0x78, 0x5E])) == (format == .deflate))
      #expect(try Self.inflated(adapted.httpBody, format) == body)
    }
  }

  @Test("Without a body nothing changes")
  func noBody() async throws {
    for encoding in [nil, "br"] {
      let request = try Self.request(nil, encoding: encoding)
      #expect(try await Self.adapted(request, by: .deflateCompressor) == request)
      #expect(try await Self.adapted(request, by: .gzipCompressor) == request)
    }
  }

  @Test("Nor when the closure says no; it is asked about the body")
  func closure() async throws {
    for encoding in [nil, "br"] {
      let request = try Self.request(Self.body, encoding: encoding)
      let asked = Log<Data>()
      let deflate = DeflateRequestCompressor { body in
        asked.append(body)
        return false
      }
      let gzip = GzipRequestCompressor(shouldCompressBodyData: { $0.count < 10 })
      #expect(try await Self.adapted(request, by: deflate) == request)
      #expect(try await Self.adapted(request, by: gzip) == request)
      #expect(asked.values == [Self.body])
    }
  }

  @Test("A Content-Encoding that is there already", arguments: [Behavior.error, .replace, .skip], ["br", ""])
  func duplicates(behavior: Behavior, encoding: String) async throws {
    let request = try Self.request(Self.body, encoding: encoding)
    let compressors: [(any RequestInterceptor, String, ContentCoding)] = [
      (.deflateCompressor(duplicateHeaderBehavior: behavior), "deflate", .deflate),
      (.gzipCompressor(duplicateHeaderBehavior: behavior), "gzip", .gzip),
    ]
    for (compressor, name, format) in compressors {
      switch behavior {
      case .error:
        await #expect(throws: DeflateRequestCompressor.DuplicateHeaderError.self) {
          try await Self.adapted(request, by: compressor)
        }
      case .skip: #expect(try await Self.adapted(request, by: compressor) == request)
      case .replace:
        let adapted = try await Self.adapted(request, by: compressor)
        #expect(adapted.headers["Content-Encoding"] == name)
        #expect(try Self.inflated(adapted.httpBody, format) == Self.body)
      }
    }
  }

  @Test("The defaults, by every way to make one")
  func defaults() {
    let deflate: [DeflateRequestCompressor] = [.init(), .deflateCompressor, .deflateCompressor()]
    let gzip: [GzipRequestCompressor] = [.init(), .gzipCompressor, .gzipCompressor()]
    for compressor in deflate {
      #expect(compressor.duplicateHeaderBehavior == .error && !compressor.compressesUploads)
      #expect(compressor.shouldCompressBodyData(Data()))
    }
    for compressor in gzip {
      #expect(compressor.duplicateHeaderBehavior == .error && !compressor.compressesUploads)
      #expect(compressor.shouldCompressBodyData(Data()))
    }
  }

  // MARK: On the wire

  @Test("A request is sent compressed, with its new length, by each attempt anew", arguments: [100, 100_000])
  func wire(count: Int) async throws {
    let server = try answeringInTurn(response("503 Busy"), okResponse("ok"))
    let interceptor = Interceptor(interceptors: [
      .gzipCompressor, RetryPolicy(exponentialBackoffScale: 0, retryableHTTPMethods: [.post]),
    ])
    let session = Session(interceptor: interceptor)
    var request = try URLRequest(url: server.url, method: .post)
    request.httpBody = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 / 100) })
    let sent = session.request(request).validate()
    #expect(await sent.serializingString().response.value == "ok")
    #expect(sent.retryCount == 1)
    #expect(sent.requests.count == 4)
    let requests = sent.requests
    #expect(requests.map { $0.headers["Content-Encoding"] } == [nil, "gzip", nil, "gzip"])
    let bodies = requests.filter { $0.headers["Content-Encoding"] != nil }.map { $0.httpBody }
    #expect(try Self.inflated(bodies.last ?? nil, .gzip) == request.httpBody)
    let lengths = server.receivedText().matches(of: /Content-Length: (\d+)/).map { $0.output.1 }
    #expect(lengths == bodies.map { "\($0?.count ?? -1)" })
  }

  @Test("A request without a URL is refused as ever")
  func noURL() async throws {
    var request = try Self.request(Self.body)
    request.url = nil
    let session = Session(interceptor: Interceptor(interceptors: [.gzipCompressor, .deflateCompressor]))
    let response = await session.request(request).serializingData().response
    #expect(response.error?.isSessionTaskError == true, "\(response)")
  }

  @Test("DuplicateHeaderError arrives as requestAdaptationFailed")
  func failure() async throws {
    let session = Session(interceptor: DeflateRequestCompressor())
    let request = session.request(try Self.request(Self.body, encoding: "br"))
    let response = await request.serializingData().response
    guard case .requestAdaptationFailed(let error)? = response.error else {
      Issue.record("\(response)")
      return
    }
    #expect(error is DeflateRequestCompressor.DuplicateHeaderError)
    #expect(response.error?.errorDescription?.contains("duplicateHeaderBehavior") == true)
  }

  @Test("It is not a retrier: it is not asked about failures")
  func retriers() {
    var types = InterceptorTypes()
    #expect(types.retriers(of: Interceptor(interceptors: [.gzipCompressor, .deflateCompressor])).isEmpty)
    #expect(types.adapters(of: Interceptor(interceptors: [.gzipCompressor, .deflateCompressor])).count == 2)
  }
}

import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

/// A session whose downloads have a directory of their own, which a test can look into.
struct DownloadRig: Sendable {
  let directory: TemporaryDirectory
  let recorder = EventRecorder(notingAttempts: true)
  let session: Session

  init(
    interceptor: (any RequestInterceptor)? = nil, rootQueue: DispatchQueue? = nil,
    requestQueue: DispatchQueue? = nil, monitors: [any EventMonitor] = [],
    _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) throws {
    directory = try TemporaryDirectory()
    var configuration = SessionConfiguration.default
    configuration.downloadDirectory = "\(directory.path)/partial"
    change(&configuration)
    session = Session(
      configuration: configuration, rootQueue: rootQueue, requestQueue: requestQueue, interceptor: interceptor,
      eventMonitors: [recorder] + monitors)
  }

  /// What is in the directory for partial files.
  var partialFiles: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: partialDirectory).sorted()) ?? []
  }

  var partialDirectory: String { "\(directory.path)/partial" }

  /// Nothing is left of any download; in the end, since a cancel waits for nobody.
  func isClean() async throws {
    try await eventually("no partial file is left: \(partialFiles)") { partialFiles.isEmpty }
  }

  func url(_ name: String) -> URL { URL(filePath: "\(directory.path)/\(name)", directoryHint: .notDirectory) }

  func to(_ name: String, _ options: DownloadRequest.Options = []) -> DownloadRequest.Destination {
    let url = url(name)
    return { _, _ in (url, options) }
  }

  func text(_ name: String) throws -> String { try String(contentsOf: url(name), encoding: .utf8) }

  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0 != "partial" }.sorted()
  }
}

extension DownloadRequest {
  /// The plain response, from a handler.
  func plainResponse() async -> WeirDownloadResponse<URL?> {
    await withCheckedContinuation { continuation in
      response { continuation.resume(returning: $0) }
    }
  }

  /// What a cancel that asks for it produces.
  func cancelProducing() async -> Data? {
    await withCheckedContinuation { continuation in
      cancel(byProducingResumeData: { continuation.resume(returning: $0) })
    }
  }
}

/// A script that serves `body` with an entity tag, cut off after `count` bytes of it: closed, or left open.
func cutOff(_ body: String, after count: Int, _ fields: String = "ETag: \"v1\"\r\n", closes: Bool = true) -> Script {
  let head = "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n"
  return Script(.request, .send(head + body.prefix(count)), closes ? .close : .awaitClose)
}

/// An answer that retriers know.
let busyResponse = response("503 Busy", body: "busy")

/// The rest of `body` from `offset` on, as 206.
func rest(_ body: String, from offset: Int, tag: String = "\"v1\"") -> String {
  let rest = body.dropFirst(offset)
  return response(
    "206 Partial Content",
    ["ETag: \(tag)", "Content-Range: bytes \(offset)-\(body.utf8.count - 1)/\(body.utf8.count)"], body: String(rest))
}

extension ResumeData {
  static func sample(
    file: String = "download-00112233445566778899aabbccddeeff", offset: Int64 = 5, total: Int64? = 10,
    validator: Validator = .entityTag("\"v1\""), url: String = "http://127.0.0.1:1/file",
    headers: [String: String] = [:]
  ) throws -> ResumeData {
    var request = URLRequest(url: try #require(URL(string: url)))
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    return try #require(
      ResumeData(request: request, validator: validator, fileName: file, offset: offset, total: total))
  }
}

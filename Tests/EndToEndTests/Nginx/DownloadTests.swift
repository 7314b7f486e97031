import Foundation
import Testing
import Weir
import WeirTestSupport

/// Downloads of a large file from a server that many use, cut off and resumed.
@Suite(.needs(.nginx), .timeLimit(.minutes(5))) struct DownloadTests {
  /// What is asked of a download that is cut off, once enough has come.
  private func cutOff(_ request: DownloadRequest, after count: Int64) async throws -> Data {
    let progress = AsyncStream<Int64>.makeStream()
    request.downloadProgress { progress.continuation.yield($0.completedUnitCount) }
    request.resume()
    for await completed in progress.stream where completed >= count { break }
    let data = await withCheckedContinuation { continuation in
      request.cancel(byProducingResumeData: { continuation.resume(returning: $0) })
    }
    return try #require(data)
  }

  @Test("Cut off twice by the client and once by the server, it is the same file in the end")
  func cutAndResumed() async throws {
    // It takes three seconds.
    let nginx = try await NginxServer(config: "location / { limit_rate \(LargeFile.size / 3); }")
    let source = try nginx.makeFile("large", randomBytes: LargeFile.size)
    let directory = try TemporaryDirectory()
    let target = URL(filePath: "\(directory.path)/large")
    let client = try MeasuredSession { $0.timeoutIntervalForResource = 240 }
    let quarter = Int64(LargeFile.size / 4)

    var data = try await cutOff(client.session.download(nginx.url("/large")), after: quarter)
    data = try await cutOff(client.session.download(resumingWith: data), after: 2 * quarter)
    let third = client.session.download(resumingWith: data)
    let progress = AsyncStream<Int64>.makeStream()
    third.downloadProgress { progress.continuation.yield($0.completedUnitCount) }
    async let broken = third.serializingDownloadedFileURL().response
    for await completed in progress.stream where completed >= 3 * quarter { break }
    try nginx.killWorker()
    let failed = await broken
    #expect(failed.error?.isSessionTaskError == true && failed.value == nil, "\(failed)")
    data = try #require(failed.resumeData)
    #expect(data == failed.error?.downloadResumeData)

    let last = client.session.download(resumingWith: data, to: { _, _ in (target, []) })
    let response = await last.validate().serializingDownloadedFileURL().response
    #expect(response.value == target && response.response?.statusCode == 206, "\(response)")
    #expect((response.metrics?.bytesReceivedOnWire ?? 0) < quarter + 1, "only the rest was sent")
    #expect(FileManager.default.contentsEqual(atPath: source, andPath: target.path))
  }

  @Test("A file that has changed is downloaded from its beginning")
  func changed() async throws {
    let nginx = try await NginxServer(config: "location / { limit_rate 20m; }")
    _ = try nginx.makeFile("large", randomBytes: 4 << 20)
    let directory = try TemporaryDirectory()
    let target = URL(filePath: "\(directory.path)/large")
    let client = try MeasuredSession()
    let data = try await cutOff(client.session.download(nginx.url("/large")), after: 1 << 20)
    let source = try nginx.makeFile("large", randomBytes: 5 << 20)
    let last = client.session.download(resumingWith: data, to: { _, _ in (target, []) })
    let response = await last.serializingDownloadedFileURL().response
    #expect(response.value == target && response.response?.statusCode == 200, "\(response)")
    #expect(FileManager.default.contentsEqual(atPath: source, andPath: target.path))
  }

  @Test("A large file goes down in constant memory")
  func memory() async throws {
    let nginx = try await NginxServer(config: "")
    try nginx.makeFile("large", size: LargeFile.size)
    let directory = try TemporaryDirectory()
    let target = URL(filePath: "\(directory.path)/large")
    let client = try MeasuredSession()
    let memory = try MemoryPeak()
    let request = client.session.download(nginx.url("/large"), to: { _, _ in (target, []) })
    request.downloadProgress { _ in memory.note() }
    let response = await request.serializingDownloadedFileURL().response
    #expect(response.value == target, "\(response)")
    #expect(response.metrics?.bytesDecoded == Int64(LargeFile.size))
    if !ThisProcess.isSanitized { #expect(memory.growth < 32 << 20, "\(memory.growth >> 20) MiB") }
  }

  @Test("The documentation's example is the one that compiles here, and works")
  func example() async throws {
    let source = try PackageRoot.text(of: "Tests/EndToEndTests/Readme/DownloadExample.swift")
    let marked = try #require(
      source.split(separator: "  // Downloads begin\n").last?.split(separator: "  // Downloads end").first)
    let lines = marked.split(separator: "\n", omittingEmptySubsequences: false).map {
      $0.hasPrefix("  ") ? $0.dropFirst(2) : $0
    }
    #expect(
      try PackageRoot.text(of: "docs/bodies.md").contains(
        "```swift\n" + lines.joined(separator: "\n") + "```\n"))

    let nginx = try await NginxServer(config: "")
    try nginx.write("text", toFile: "file")
    let directory = try TemporaryDirectory()
    let file = URL(filePath: "\(directory.path)/a/file")
    #expect(try await downloadExample(session: MeasuredSession().session, url: nginx.url("/file"), file: file) == file)
    #expect(try String(contentsOf: file, encoding: .utf8) == "text")
  }
}

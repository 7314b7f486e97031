import Foundation
import Testing
import Weir
import WeirTestSupport

/// §8.2 against a server that stores what it is sent.
@Suite(.needs(.nginx)) struct UploadTests {
  private static let storing = """
    client_max_body_size 2g; location / { dav_methods PUT; create_full_put_path on; }
    location /denied { return 401 "who are you?"; }
    """

  /// Bytes that are nowhere the same, in a file of the temporary directory.
  private static func makeFile(_ size: Int) throws -> URL {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    try Data().write(to: file)
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    let piece = 1 << 20
    for start in stride(from: 0, to: size, by: piece) {
      var bytes = Data(count: min(piece, size - start))
      bytes.withUnsafeMutableBytes { buffer in
        for offset in stride(from: 0, to: buffer.count - 7, by: 8) {
          buffer.storeBytes(of: UInt64(start + offset) &* 0x9E37_79B9_7F4A_7C15, toByteOffset: offset, as: UInt64.self)
        }
      }
      try handle.write(contentsOf: bytes)
    }
    return file
  }

  /// The place of the first difference; nil when there is none.
  private static func difference(_ left: URL, _ right: String) throws -> Int? {
    let (left, right) = (
      try FileHandle(forReadingFrom: left), try FileHandle(forReadingFrom: URL(fileURLWithPath: right))
    )
    var place = 0
    while true {
      let (mine, stored) = (try left.read(upToCount: 1 << 20) ?? Data(), try right.read(upToCount: 1 << 20) ?? Data())
      if mine != stored { return place }
      if mine.isEmpty { return nil }
      place += mine.count
    }
  }

  @Test func aLargeFileGoesUpInConstantMemory() async throws {
    let nginx = try await NginxServer(config: Self.storing)
    let client = try MeasuredSession()
    let file = try Self.makeFile(LargeFile.size)
    defer { try? FileManager.default.removeItem(at: file) }
    let memory = try MemoryPeak()
    let request = client.session.upload(file, to: nginx.url("/stored"), method: .put).validate()
    request.uploadProgress { _ in memory.note() }
    let response = await request.serializingData(emptyResponseCodes: [201, 204]).response
    #expect(response.error == nil, "\(response)")
    #expect(response.metrics?.bytesSent == Int64(LargeFile.size))
    if !ThisProcess.isSanitized { #expect(memory.growth < 32 << 20, "\(memory.growth >> 20) MiB") }
    #expect(try Self.difference(file, nginx.path(ofFile: "stored")) == nil)
    #expect(client.sum("http_client_request_body_size_bytes_sum") == Double(LargeFile.size))
  }

  @Test func aRefusalInTheMiddleIsTheResponse() async throws {
    let nginx = try await NginxServer(config: Self.storing)
    let client = try MeasuredSession()
    let file = try Self.makeFile(16 << 20)
    defer { try? FileManager.default.removeItem(at: file) }
    for _ in 0..<10 {
      let response = await client.session.upload(file, to: nginx.url("/denied"), method: .put).serializingString()
        .response
      #expect(response.statusCode == 401, "\(response)")
      #expect(response.value == "who are you?", "\(response)")
    }
  }

  @Test func aStreamGoesUpInChunks() async throws {
    let nginx = try await NginxServer(config: Self.storing)
    let client = try MeasuredSession()
    let file = try Self.makeFile(8 << 20)
    defer { try? FileManager.default.removeItem(at: file) }
    let stream = try #require(InputStream(url: file))
    let response = await client.session.upload(stream, to: nginx.url("/stream"), method: .put).validate()
      .serializingData(emptyResponseCodes: [201, 204]).response
    #expect(response.error == nil, "\(response)")
    #expect(try Self.difference(file, nginx.path(ofFile: "stream")) == nil)
  }
}

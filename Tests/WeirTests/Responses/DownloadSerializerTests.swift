import Foundation
import FoundationNetworking
import Testing

@testable import Weir

@Suite struct DownloadSerializerTests {
  static func serialize<S: ResponseSerializer>(
    _ serializer: S, _ fileURL: URL?, status: Int = 200, error: (any Error)? = nil
  ) throws -> S.SerializedObject {
    try serialize(download: serializer, fileURL, status: status, error: error)
  }

  static func serialize<S: DownloadResponseSerializerProtocol>(
    download serializer: S, _ fileURL: URL?, status: Int = 200, error: (any Error)? = nil
  ) throws -> S.SerializedObject {
    try serializer.serializeDownload(
      request: try ResponseSerializerTests.request(),
      response: try ResponseSerializerTests.response(status).response, fileURL: fileURL, error: error)
  }

  static func withFile(_ text: String, _ body: (URL) throws -> Void) throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    try body(file)
  }

  @Test func filesAreRead() throws {
    try Self.withFile("[1]") { (file: URL) throws -> Void in
      #expect(try Self.serialize(.data, file) == Data("[1]".utf8))
      #expect(try Self.serialize(.string, file) == "[1]")
      #expect(try Self.serialize(.decodable(of: [Int].self), file) == [1])
      #expect(try Self.serialize(download: .url, file) == file)
      #expect(FileManager.default.fileExists(atPath: file.path))
    }
  }

  /// Neither a `ResponseSerializer` nor one with a method for files.
  private struct Count: DataResponseSerializerProtocol, DownloadResponseSerializerProtocol {
    func serialize(
      request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Int { data?.count ?? -1 }
  }

  @Test func aSerializerOfBodiesTakesFilesToo() throws {
    try Self.withFile("four") { (file: URL) throws -> Void in
      #expect(try Self.serialize(download: Count(), file) == 4)
    }
    #expect(throws: SampleError()) { try Self.serialize(download: Count(), nil, error: SampleError()) }
    #expect(throws: WeirError.self) { try Self.serialize(download: Count(), nil) }
  }

  @Test func errorsAreRethrown() throws {
    #expect(throws: SampleError()) { try Self.serialize(.data, nil, error: SampleError()) }
    #expect(throws: SampleError()) { try Self.serialize(download: .url, nil, error: SampleError()) }
  }

  @Test func noFile() throws {
    for reason in [
      try ResponseSerializerTests.reason { try Self.serialize(.data, nil) },
      try ResponseSerializerTests.reason { try Self.serialize(download: .url, nil) },
    ] {
      guard case .inputFileNil = reason else {
        Issue.record("\(String(describing: reason))")
        continue
      }
    }
  }

  @Test func anUnreadableFile() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    let reason = try ResponseSerializerTests.reason { try Self.serialize(.string, file) }
    guard case .inputFileReadFailed(file) = reason else {
      Issue.record("\(String(describing: reason))")
      return
    }
  }

  @Test func anEmptyFileIsAnEmptyBody() throws {
    try Self.withFile("") { (file: URL) throws -> Void in
      #expect(throws: WeirError.self) { try Self.serialize(.data, file) }
      #expect(try Self.serialize(.data, file, status: 204) == Data())
      #expect(try Self.serialize(.decodable(of: Empty.self), file, status: 205) == .value)
    }
  }
}

import Foundation
import FoundationNetworking
import Glibc
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// Files that are not what they should be, or don't stay it.
@Suite("§8.2 Uploads: files", .timeLimit(.minutes(5)))
struct UploadFileTests {
  // MARK: Before the transfer

  /// What is uploaded, the error, and a word of its text.
  private static let refused: [(String, URLError.Code, RequestOutcome, String)] = [
    ("missing", .fileDoesNotExist, .fileError, "is not there"),
    ("missing/below", .fileDoesNotExist, .fileError, "is not there"),
    ("file/below", .fileDoesNotExist, .fileError, "is not there"),
    ("directory", .fileIsDirectory, .fileError, "is a directory"),
    ("fifo", .cannotOpenFile, .fileError, "stream"),
    ("device", .cannotOpenFile, .fileError, "stream"),
    ("socket", .cannotOpenFile, .fileError, "stream"),
    ("web", .unsupportedURL, .creationFailed, "is not a file URL"),
    ("nul", .fileDoesNotExist, .fileError, "is not there"),
  ]

  private static func url(_ kind: String, in scratch: Scratch) throws -> URL {
    switch kind {
    case "directory": return scratch.directory
    case "fifo":
      #expect(mkfifo(scratch.url("fifo").path, 0o600) == 0)
      return scratch.url("fifo")
    case "device": return URL(fileURLWithPath: "/dev/null")
    case "socket":
      let path = scratch.url("s").path
      _ = try ScriptedServer(unixSocketPath: path, Script(.close))
      return scratch.url("s")
    case "web": return try #require(URL(string: "http://user:secret@127.0.0.1/file"))
    case "nul": return try #require(URL(string: "file:///etc/hostname%00x"))
    default:
      _ = try scratch.file([1])
      return scratch.url(kind)
    }
  }

  @Test("What is no readable regular file is refused before anything is sent", arguments: refused)
  func refusal(kind: String, code: URLError.Code, outcome: RequestOutcome, word: String) async throws {
    let scratch = try Scratch()
    let file = try Self.url(kind, in: scratch)
    let server = try ScriptedServer(Script(.awaitClose))
    let session = Session()
    let request = session.upload(file, to: server.url)
    let error = await request.plainResponse().error
    #expect(error?.isCreateUploadableError == true && error?.urlErrorCode == code, "\(String(describing: error))")
    #expect(error?.errorDescription?.contains(word) == true, "\(error?.errorDescription ?? "-")")
    #expect(error?.errorDescription?.contains("secret") == false)
    #expect(request.outcome == outcome)
    #expect(request.tasks.isEmpty && server.connectionCount == 0)
  }

  @Test("A file that may not be read is refused")
  func unreadable() async throws {
    // Those who may read anything can't see this.
    guard geteuid() != 0 else { return }
    let scratch = try Scratch()
    let file = try scratch.file([1])
    #expect(chmod(file.path, 0) == 0)
    let session = Session()
    let error = await session.upload(file, to: "http://127.0.0.1:1/").plainResponse().error
    #expect(error?.urlErrorCode == .noPermissionsToReadFile)
  }

  @Test("Files of proc(5) and empty ones have a length of zero")
  func empty() async throws {
    let scratch = try Scratch()
    let server = try ScriptedServer(.answering(okResponse("taken")))
    let session = Session()
    let request = session.upload(try scratch.file([]), to: server.url)
    #expect(await request.serializingString().response.value == "taken")
    #expect(server.headLines().contains("Content-Length: 0"))
  }

  // MARK: While it waits or is sent

  /// What becomes of the file between two pieces of it.
  private static let changes: [(String, @Sendable (URL) throws -> Void, URLError.Code?)] = [
    ("grows", { try append($0) }, nil),
    ("is removed", { try FileManager.default.removeItem(at: $0) }, nil),
    ("shrinks", { _ = truncate($0.path, 1000) }, .cannotOpenFile),
  ]

  private static func append(_ url: URL) throws {
    let handle = try FileHandle(forWritingTo: url)
    try handle.seekToEnd()
    try handle.write(contentsOf: Data(repeating: 0xEE, count: 5_000_000))
    try handle.close()
  }

  /// More than the buffers of both sockets hold, so that most of it is read when the server reads on.
  private static let size = 32 << 20

  @Test("A file that changes while it is sent is cut at its length, or ends the transfer", arguments: changes.indices)
  func change(index: Int) async throws {
    let (name, change, code) = Self.changes[index]
    let scratch = try Scratch()
    let file = try scratch.sparseFile(UInt64(Self.size))
    let next = "GET /next HTTP/1.1\r\n"
    let server = try ScriptedServer(
      Script(
        .head, .swallow(100_000), .call { try? change(file) }, .swallow(Self.size - 100_000),
        .send(okResponse("taken")),
        .head, .send(okResponse("next")), .awaitClose),
      .answering(okResponse("next")))
    let session = Session()
    let request = session.upload(file, to: server.url)
    let response = await request.serializingString().response
    #expect(response.error?.urlErrorCode == code, "\(name): \(String(describing: response.error))")
    #expect(request.outcome == (code == nil ? .success : .fileError), "\(name)")
    #expect(await session.request(server.url + "next").serializingString().response.value == "next")
    // Nothing of the file has become another request.
    let connection = code == nil ? 0 : 1
    #expect(server.connectionCount == connection + 1)
    #expect(server.receivedText(on: connection).contains(next))
  }

  @Test(
    "A file that is gone, or something else, when its turn comes fails the transfer as a file",
    arguments: [true, false])
  func goneBeforeTheTransfer(isReplaced: Bool) async throws {
    let scratch = try Scratch()
    let file = try scratch.file(pattern(100_000))
    let server = try ScriptedServer(Script(.awaitClose))
    let session = Session(startRequestsImmediately: false, requestSetup: .eager)
    let request = session.upload(file, to: server.url)
    try await eventually("the task is there") { request.task != nil }
    try FileManager.default.removeItem(at: file)
    if isReplaced { #expect(mkfifo(file.path, 0o600) == 0) }
    let error = await request.resume().plainResponse().error
    #expect(error?.isSessionTaskError == true)
    #expect(error?.urlErrorCode == (isReplaced ? .cannotOpenFile : .fileDoesNotExist))
    #expect(request.outcome == .fileError)
  }

  @Test("A retry looks at the file again")
  func again() async throws {
    let scratch = try Scratch()
    let file = try scratch.file(pattern(1000))
    let server = try ScriptedServer(
      Script(
        .request, .call { try? Data(pattern(2000)).write(to: file) }, .send(response("503 Busy")), .request,
        .send(okResponse("taken")), .awaitClose))
    let session = Session(
      interceptor: Retrier { request, _, _, completion in completion(request.retryCount == 0 ? .retry : .doNotRetry) })
    let request = session.upload(file, to: server.url).validate()
    #expect(await request.serializingString().response.value == "taken")
    #expect(server.receivedText().contains("Content-Length: 2000"))
    let removed = session.upload(file, to: server.url)
    try FileManager.default.removeItem(at: file)
    #expect(await removed.plainResponse().error?.urlErrorCode == .fileDoesNotExist)
  }
}

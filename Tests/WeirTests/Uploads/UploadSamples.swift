import Foundation
import FoundationNetworking
import Synchronization
import Weir
import WeirTestSupport

/// Files of one test, in a directory that goes with this.
final class Scratch: Sendable {
  let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  func url(_ name: String = "file") -> URL { directory.appendingPathComponent(name) }

  func file(_ bytes: [UInt8], _ name: String = "file") throws -> URL {
    let url = url(name)
    try Data(bytes).write(to: url)
    return url
  }

  /// A file of that many bytes, which takes no room where it has holes.
  func sparseFile(_ size: UInt64, _ name: String = "file") throws -> URL {
    let url = try file([], name)
    let handle = try FileHandle(forWritingTo: url)
    try handle.truncate(atOffset: size)
    try handle.close()
    return url
  }
}

/// Bytes of which each position differs from its neighbours and the next pages' likewise.
func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

/// Makes URL request and body by closures.
struct MadeUpload: UploadConvertible {
  let url: String
  var method = HTTPMethod.post
  let make: @Sendable () throws -> UploadRequest.Uploadable

  func asURLRequest() throws -> URLRequest { try URLRequest(url: url, method: method) }
  func createUploadable() throws -> UploadRequest.Uploadable { try make() }
}

extension ScriptedServer {
  /// The body of the first request on a connection, which has a Content-Length.
  func body(on index: Int = 0) -> [UInt8] {
    let bytes = received(on: index)
    let mark = Array("\r\n\r\n".utf8)
    guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: mark) }) else { return [] }
    return Array(bytes[(end + 4)...])
  }

  /// The lines of the head of the first request on a connection.
  func headLines(on index: Int = 0) -> [String] {
    receivedText(on: index).components(separatedBy: "\r\n\r\n")[0].components(separatedBy: "\r\n")
  }
}

/// A file manager that notes what it removed.
final class NotingFileManager: FileManager, @unchecked Sendable {
  let removed = Journal<String>()

  override func removeItem(at url: URL) throws {
    removed.append(url.lastPathComponent)
    try super.removeItem(at: url)
  }
}

/// Reasons of denied retries.
final class Denials: InlineEventMonitor {
  let reasons = Journal<RetryDenial.Reason>()

  func request(_ request: Request, didDenyRetry denial: RetryDenial) { reasons.append(denial.reason) }
}

/// A body of one byte that comes when a test opens the gate.
final class GatedStream: InputStream {
  private let gate: Gate
  private var status = Status.notOpen
  private var isRead = false

  init(_ gate: Gate) {
    self.gate = gate
    super.init(data: Data())
  }

  override var streamStatus: Status { status }
  override var streamError: (any Error)? { nil }
  override func open() { status = .open }
  override func close() { status = .closed }
  override var hasBytesAvailable: Bool { !isRead }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
    if isRead { return 0 }
    gate.wait()
    isRead = true
    buffer.pointee = 65
    return 1
  }
}

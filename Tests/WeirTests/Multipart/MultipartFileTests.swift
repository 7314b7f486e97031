import CLinux
import Foundation
import FoundationNetworking
import Glibc
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§15 Multipart: files that are not what they seem", .timeLimit(.minutes(5)))
struct MultipartFileTests {
  private static func form(_ url: URL) -> MultipartFormData {
    let form = MultipartSamples.form()
    form.append(url, withName: "n", fileName: "f", mimeType: "a/b")
    return form
  }

  private static func label(_ url: URL) throws -> String? {
    try MultipartSamples.reason { form(url) }?.summary.label
  }

  @Test("A name and an extension are needed where none are given", arguments: ["/tmp/name", "/", "/tmp/.", "/tmp/a."])
  func names(path: String) throws {
    let reason = try MultipartSamples.reason {
      let form = MultipartSamples.form()
      form.append(MultipartSamples.url(path), withName: "n")
      return form
    }
    #expect(reason?.summary.label == "body_part_filename_invalid")
  }

  @Test("Not a file URL", arguments: ["http://h/a.txt", "data:text/plain,a", "a.txt"])
  func noFile(text: String) throws {
    #expect(try Self.label(try #require(URL(string: text))) == "body_part_url_invalid")
  }

  @Test("Not there", arguments: ["file:///nowhere/a.txt", "file:///dev/null/a.txt", "file:///etc/passwd%00.txt"])
  func missing(text: String) throws {
    let url = try #require(URL(string: text))
    let reason = try MultipartSamples.reason { Self.form(url) }
    guard case .bodyPartFileNotReachableWithError(url, let error)? = reason else {
      Issue.record("\(String(describing: reason))")
      return
    }
    #expect([POSIXErrorCode.ENOENT, .ENOTDIR].contains((error as? POSIXError)?.code))
  }

  @Test("Directories, pipes, devices and sockets")
  func kinds() throws {
    let directory = try TemporaryDirectory()
    #expect(try Self.label(MultipartSamples.url(directory.path)) == "body_part_file_is_directory")
    let fifo = "\(directory.path)/fifo"
    #expect(mkfifo(fifo, 0o600) == 0)
    #expect(try Self.label(MultipartSamples.url(fifo)) == "body_part_file_size_not_available")
    for device in ["/dev/null", "/dev/zero", "/dev/full"] {
      #expect(try Self.label(MultipartSamples.url(device)) == "body_part_file_size_not_available")
    }
  }

  @Test("Links are followed; loose ones and rings lead nowhere")
  func links() throws {
    let directory = try TemporaryDirectory()
    let target = try directory.file("target", "x")
    func link(_ name: String, to target: String) -> URL {
      let path = "\(directory.path)/\(name)"
      #expect(symlink(target, path) == 0)
      return MultipartSamples.url(path)
    }
    #expect(try MultipartSamples.text(Self.form(link("good", to: target))).contains("\r\n\r\nx\r\n--B--"))
    #expect(try Self.label(link("loose", to: "nowhere")) == "body_part_file_not_reachable_with_error")
    #expect(try Self.label(link("ring", to: "ring")) == "body_part_file_not_reachable_with_error")
    #expect(try Self.label(link("up", to: directory.path)) == "body_part_file_is_directory")
  }

  /// The rights by which this thread opens files; root's would open everything.
  private static func asNobody<Value>(_ body: () throws -> Value) throws -> Value {
    typealias SetID = @convention(c) (UInt32) -> CInt
    let symbol = try #require(dlsym(nil, "setfsuid"))
    let setID = unsafeBitCast(symbol, to: SetID.self)
    _ = setID(65_534)
    defer { _ = setID(geteuid()) }
    return try body()
  }

  @Test("Not readable", .enabled(if: geteuid() == 0, "asks for the rights of somebody else"))
  func unreadable() throws {
    let directory = try TemporaryDirectory()
    let file = try directory.file("secret", "x")
    chmod(file, 0o600)
    let label = try Self.asNobody {
      let form = Self.form(MultipartSamples.url(file))
      return #expect(throws: WeirError.self) { try form.encode() }?.label
    }
    let labels = ["body_part_input_stream_creation_failed", "body_part_file_not_reachable_with_error"]
    #expect(labels.contains(label ?? ""))
    // Readable when it was appended.
    let form = Self.form(MultipartSamples.url(file))
    let later = try Self.asNobody { #expect(throws: WeirError.self) { try form.encode() } }
    #expect(later?.label == "body_part_file_not_reachable_with_error")
    #expect(later?.url?.path == file)
  }

  @Test("A file that can't be read though it opens")
  func ioError() throws {
    // Address 0 of our own memory: EIO. Its size is said to be 0.
    let reason = try MultipartSamples.reason { Self.form(MultipartSamples.url("/proc/self/mem")) }
    guard case .inputStreamReadFailed(let error)? = reason else {
      Issue.record("\(String(describing: reason))")
      return
    }
    #expect((error as? POSIXError)?.code == .EIO)
  }

  @Test("A file whose size is a lie")
  func lyingSize() throws {
    let lengths = MultipartSamples.lengths(
      try MultipartSamples.reason { Self.form(MultipartSamples.url("/proc/self/status")) })
    #expect(lengths?.bytesExpected == 0)
    #expect((lengths?.bytesRead ?? 0) > 100)
  }

  @Test(
    "What becomes of a file between append and encoding",
    arguments: [
      ("shorter", "input_stream_read_failed"), ("longer", "input_stream_read_failed"),
      ("empty", "input_stream_read_failed"),
      ("gone", "body_part_file_not_reachable_with_error"), ("directory", "body_part_file_is_directory"),
      ("fifo", "body_part_file_size_not_available"), ("device", "body_part_file_size_not_available"),
    ])
  func changes(change: String, label: String) throws {
    let directory = try TemporaryDirectory()
    var count = 0
    let reason = try MultipartSamples.reason {
      count += 1
      let path = try directory.file("f\(count)", "12345")
      let form = Self.form(MultipartSamples.url(path))
      #expect(form.contentLength == 5)
      if change == "longer" { try directory.file("f\(count)", "1234567") } else { unlink(path) }
      switch change {
      case "shorter": try directory.file("f\(count)", "123")
      case "empty": try directory.file("f\(count)", "")
      case "directory": _ = try directory.directory("f\(count)")
      case "fifo": #expect(mkfifo(path, 0o600) == 0)
      case "device": #expect(symlink("/dev/zero", path) == 0)
      default: break
      }
      return form
    }
    // The texts name the file, of which there are two.
    #expect(reason?.summary.label == label)
    if let lengths = MultipartSamples.lengths(reason) {
      #expect(lengths.bytesExpected == 5)
      #expect(lengths.bytesRead == ["shorter": 3, "longer": 7, "empty": 0][change])
    }
  }

  @Test("Of a file that grows while it is read, no more than was there is taken")
  func growsMeanwhile() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.file("log.txt", "12345")
    let form = MultipartSamples.form()
    // Runs when the parts before the file are read already.
    let appending = MadeStream { _ in
      _ = try? directory.file("log.txt", "1234567")
      return 0
    }
    form.append(appending, withLength: 0, headers: [:])
    form.append(MultipartSamples.url(path), withName: "n")
    let error = #expect(throws: WeirError.self) { try form.encode() }
    #expect(error?.label == "input_stream_read_failed")
  }
}

import Foundation
import FoundationNetworking
import Glibc
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§15 Multipart: where it is written to", .timeLimit(.minutes(5)))
struct MultipartTargetTests {
  private static func form(_ size: Int = 10) -> MultipartFormData {
    let form = MultipartSamples.form()
    form.append(Data(count: size), withName: "n")
    return form
  }

  private static func label(_ target: URL, _ form: MultipartFormData = form()) -> String? {
    #expect(throws: WeirError.self) { try form.writeEncodedData(to: target) }?.label
  }

  private static func mode(_ path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode : 0
  }

  @Test("Its owner alone may read it")
  func permissions() throws {
    let directory = try TemporaryDirectory()
    try Self.form().writeEncodedData(to: MultipartSamples.url("\(directory.path)/f"))
    #expect(Self.mode("\(directory.path)/f") == S_IFREG | 0o600)
  }

  @Test("What is there stays as it is: a file, a directory, links to anything")
  func existing() throws {
    let directory = try TemporaryDirectory()
    let file = try directory.file("f", "precious")
    _ = try directory.directory("d")
    #expect(symlink("f", "\(directory.path)/link") == 0)
    #expect(symlink("nowhere", "\(directory.path)/loose") == 0)
    for name in ["f", "d", "link", "loose"] {
      #expect(Self.label(MultipartSamples.url("\(directory.path)/\(name)")) == "output_stream_file_already_exists")
    }
    #expect(Self.label(MultipartSamples.url("/dev/full")) == "output_stream_file_already_exists")
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "precious")
    #expect(access("\(directory.path)/nowhere", F_OK) != 0)
  }

  @Test("Not a file URL", arguments: ["http://h/f", "f"])
  func noFile(text: String) throws {
    #expect(Self.label(try #require(URL(string: text))) == "output_stream_url_invalid")
  }

  @Test("No directory to be in", arguments: ["file:///nowhere/f", "file:///dev/null/f"])
  func noDirectory(text: String) throws {
    #expect(Self.label(try #require(URL(string: text))) == "output_stream_creation_failed")
  }

  @Test("A device that is full", arguments: [1, 1_000_000])
  func full(size: Int) throws {
    let descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC)
    let target = MultipartTarget(descriptor: descriptor)
    let error = #expect(throws: WeirError.self) {
      try target.write(Data(count: size))
      try target.close()
    }
    guard case .multipartEncodingFailed(.outputStreamWriteFailed(let cause))? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect((cause as? POSIXError)?.code == .ENOSPC)
  }

  @Test("A disk that fills up: the error says so, and the part of a file is gone", .enabled(if: geteuid() == 0))
  func fullDisk() async throws {
    let directory = try TemporaryDirectory()
    let disk = try directory.directory("disk")
    let mount = Tool(named: "mount")
    guard mount.isInstalled,
      try await mount.runToEnd(["-t", "tmpfs", "-o", "size=256k", "weir", disk]).status == .exited(0)
    else {
      print("skipped: no file system can be mounted here")
      return
    }
    let error = #expect(throws: WeirError.self) {
      try Self.form(1_000_000).writeEncodedData(to: MultipartSamples.url("\(disk)/f"))
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: disk)
    try await Tool(named: "umount").run([disk])
    #expect(error?.label == "output_stream_write_failed")
    #expect((error?.underlyingError as? POSIXError)?.code == .ENOSPC)
    #expect(left == [])
  }

  @Test("No descriptor stays open, whether it works or not")
  func descriptors() throws {
    let directory = try TemporaryDirectory()
    let file = MultipartSamples.url(try directory.file("a.txt", "x"))
    func links() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.hasPrefix(directory.path)
          ?? false
      }
    }
    for number in 0..<20 {
      let form = Self.form()
      form.append(file, withName: "n")
      if number.isMultiple(of: 2) { form.append(MadeStream { _ in -1 }, withLength: 1, headers: [:]) }
      try? form.writeEncodedData(to: MultipartSamples.url("\(directory.path)/\(number)"))
    }
    #expect(try links() == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 11)
  }

  @Test("A large file goes through in constant memory")
  func constantMemory() throws {
    let directory = try TemporaryDirectory()
    let source = try directory.file("large.bin", "")
    let size = 256 << 20
    #expect(truncate(source, off_t(size)) == 0)
    let form = MultipartSamples.form()
    form.append(MultipartSamples.url(source), withName: "n")
    let before = try ThisProcess.residentBytes
    try form.writeEncodedData(to: MultipartSamples.url("\(directory.path)/f"))
    let grown = try ThisProcess.residentBytes - before
    #expect(grown < 64 << 20, "\(grown)")
    var status = stat()
    #expect(stat("\(directory.path)/f", &status) == 0)
    #expect(Int(status.st_size) > size)
  }
}

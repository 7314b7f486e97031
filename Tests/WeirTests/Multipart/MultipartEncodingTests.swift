import Foundation
import FoundationNetworking
import Glibc
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§15 Multipart: memory or temporary file")
struct MultipartEncodingTests {
  private static func form() -> MultipartFormData {
    let form = MultipartSamples.form()
    form.append(Data("0123456789".utf8), withName: "n")
    return form
  }

  @Test(
    "From the threshold on it is a file; what counts is the bodies alone",
    arguments: [
      (0, true), (10, true), (11, false), (.max, false),
    ] as [(UInt64, Bool)])
  func threshold(threshold: UInt64, isFile: Bool) throws {
    let directory = try TemporaryDirectory()
    let encoded = try MultipartEncoding.encode(
      Self.form(), usingThreshold: threshold, in: MultipartSamples.url(directory.path))
    switch encoded {
    case .data(let data):
      #expect(!isFile)
      #expect(data == (try Self.form().encode()))
    case .file(let url):
      #expect(isFile)
      #expect(try Data(contentsOf: url) == Self.form().encode())
      let parent = url.deletingLastPathComponent().path
      #expect(parent == "\(directory.path)/weir/multipart.form.data")
      #expect(UUID(uuidString: url.lastPathComponent) != nil)
      var status = stat()
      #expect(stat(url.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
      #expect(stat(parent, &status) == 0 && status.st_mode & 0o777 == 0o700)
    }
  }

  @Test("What ended processes have left there for a week goes; nothing else does")
  func sweep() throws {
    let directory = try TemporaryDirectory()
    let place = try directory.directory("weir/multipart.form.data")
    func file(_ name: String, days: Double) throws -> String {
      let path = try directory.file("weir/multipart.form.data/\(name)", "x")
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -days * 86_400)], ofItemAtPath: path)
      return name
    }
    for path in [place, "\(directory.path)/weir"] { chmod(path, 0o700) }
    _ = try file(UUID().uuidString, days: 7.1)
    var stays = [try file(UUID().uuidString, days: 6.9), try file("somebody's", days: 8)]
    func encode() throws {
      let encoded = try MultipartEncoding.encode(
        Self.form(), usingThreshold: 0, in: MultipartSamples.url(directory.path))
      guard case .file(let url) = encoded else { return }
      stays.append(url.lastPathComponent)
    }
    try encode()
    // Once for each process.
    stays.append(try file(UUID().uuidString, days: 8))
    try encode()
    #expect(try FileManager.default.contentsOfDirectory(atPath: place).sorted() == stays.sorted())
    #expect(stays.count == 5)
  }

  @Test("By default in the directory of temporary files")
  func temporaryDirectory() throws {
    guard case .file(let url) = try MultipartEncoding.encode(Self.form(), usingThreshold: 0) else {
      Issue.record("not a file")
      return
    }
    defer { unlink(url.path) }
    #expect(url.path.hasPrefix(FileManager.default.temporaryDirectory.path))
  }

  @Test("An empty form is data whatever the threshold is, but 0")
  func empty() throws {
    let encoded = try MultipartEncoding.encode(MultipartSamples.form(), usingThreshold: 1)
    guard case .data(let data) = encoded else {
      Issue.record("not data")
      return
    }
    #expect(data.isEmpty)
  }

  @Test("Nothing is left of a form that can't be encoded")
  func failure() throws {
    let directory = try TemporaryDirectory()
    let form = Self.form()
    form.append(MadeStream { _ in -1 }, withLength: 100, headers: [:])
    #expect(throws: WeirError.self) {
      try MultipartEncoding.encode(form, usingThreshold: 0, in: MultipartSamples.url(directory.path))
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/weir/multipart.form.data")
    #expect(names == [])
  }

  @Test("A directory that others can write to, a link or a file is left alone; ours has our number then")
  func othersDirectory() throws {
    for obstacle in ["writable", "link", "file", "inner"] {
      let directory = try TemporaryDirectory()
      switch obstacle {
      case "writable": chmod(try directory.directory("weir"), 0o777)
      case "link": #expect(symlink("/", "\(directory.path)/weir") == 0)
      case "inner":
        _ = try directory.directory("weir")
        chmod(try directory.directory("weir/multipart.form.data"), 0o777)
      default: try directory.file("weir", "")
      }
      let temporary = MultipartSamples.url(directory.path)
      let encoded = try MultipartEncoding.encode(Self.form(), usingThreshold: 0, in: temporary)
      guard case .file(let url) = encoded else { continue }
      #expect(
        url.deletingLastPathComponent().path == "\(directory.path)/weir-\(geteuid())/multipart.form.data", "\(obstacle)"
      )
      try directory.file("weir-\(geteuid())/multipart.form.data/x", "")
    }
  }

  @Test("Where no directory can be made, the error names it")
  func noDirectory() throws {
    let error = #expect(throws: WeirError.self) {
      try MultipartEncoding.encode(Self.form(), usingThreshold: 0, in: MultipartSamples.url("/dev/null"))
    }
    #expect(error?.label == "output_stream_creation_failed")
    #expect(error?.url?.path == "/dev/null/weir/multipart.form.data")
  }
}

import Foundation
import FoundationNetworking
import Glibc
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

@Suite("§8.3 Downloads: files on the disk")
struct PartialFileTests {
  private let parent: TemporaryDirectory
  private let directory: PartialDirectory

  init() throws {
    parent = try TemporaryDirectory()
    directory = PartialDirectory("\(parent.path)/partial")
  }

  /// A file as a download leaves it.
  private func left(_ text: String) throws -> PartialFile {
    let file = PartialFile(in: directory)
    try file.write(Array(text.utf8))
    file.close()
    return file
  }

  private func data(_ file: String, offset: Int64) throws -> ResumeData {
    try .sample(file: file, offset: offset, total: nil)
  }

  private func isRefused(_ name: String, offset: Int64, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let data = try data(name, offset: offset)
    #expect(throws: FileProblem.self, sourceLocation: sourceLocation) {
      _ = try PartialFile(resuming: data, in: directory)
    }
  }

  @Test func itIsPrivate() throws {
    let file = PartialFile(in: directory)
    try file.write([1, 2, 3])
    #expect(PartialFile.isName(file.name))
    #expect(try FileSystem.status(ofFile: file.url.path).permissions == 0o600)
    #expect(try FileSystem.status(ofFile: directory.path).permissions == 0o700)
    file.remove()
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
  }

  @Test("Once removed it is not made again")
  func itStaysRemoved() throws {
    let file = PartialFile(in: directory)
    try file.write([1])
    file.remove()
    #expect(throws: FileProblem.self) { try file.write([2]) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    let unmade = PartialFile(in: directory)
    unmade.remove()
    #expect(throws: FileProblem.self) { try unmade.make() }
  }

  @Test func itGoesOnWhereItEnded() throws {
    let name = try left("hello").name
    let file = try PartialFile(resuming: try data(name, offset: 5), in: directory)
    try file.write(Array(", world".utf8))
    file.leave(at: 8)
    #expect(try String(contentsOf: file.url, encoding: .utf8) == "hello, w")
  }

  @Test("Of a file that has grown since, what is beyond is cut off")
  func itGoesOnWhereTheDataSay() throws {
    let name = try left("hello, world").name
    let file = try PartialFile(resuming: try data(name, offset: 5), in: directory)
    try file.write(Array("!".utf8))
    file.close()
    #expect(try String(contentsOf: file.url, encoding: .utf8) == "hello!")
  }

  @Test func onlyOneGoesOnWithIt() throws {
    let name = try left("hello").name
    let first = try PartialFile(resuming: try data(name, offset: 5), in: directory)
    try isRefused(name, offset: 5)
    first.close()
    try PartialFile(resuming: try data(name, offset: 5), in: directory).close()
  }

  @Test func aFileThatIsNotTheOneLeftIsRefusedAndStaysAsItIs() throws {
    let name = try left("hello").name
    try isRefused(name, offset: 6)
    try isRefused(String(name.dropLast()) + (name.hasSuffix("0") ? "1" : "0"), offset: 5)
    #expect(try String(contentsOfFile: directory.path(of: name), encoding: .utf8) == "hello")

    // Under a partial file's name, things that were not made here.
    let other = try parent.file("other", "hello")
    let path = directory.path(of: PartialFile(in: directory).name)
    let link = (path as NSString).lastPathComponent
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other)
    try isRefused(link, offset: 5)
    try FileManager.default.removeItem(atPath: path)
    #expect(mkfifo(path, 0o600) == 0)
    try isRefused(link, offset: 5)
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try isRefused(link, offset: 5)
    #expect(try String(contentsOfFile: other, encoding: .utf8) == "hello")
  }

  @Test func aDirectoryThatOthersMayLookIntoIsRefused() throws {
    try FileManager.default.createDirectory(
      atPath: directory.path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
    let problem = #expect(throws: FileProblem.self) { try PartialFile(in: directory).write([1]) }
    #expect(problem?.unwritable.localizedDescription.contains("TMPDIR") == true)
    #expect(problem?.unwritable.localizedDescription.contains("this user's alone") == true)
  }

  @Test("Where somebody else has taken the place in the directory of all users, it is in one's own")
  func theOtherPlace() throws {
    let (temporary, caches) = (try parent.directory("tmp"), try parent.directory("caches"))
    let elsewhere = PartialDirectory(nil, temporary: URL(filePath: temporary), caches: URL(filePath: caches))
    // As somebody else would; one's own that is open to all is refused in the same way.
    _ = try parent.directory("tmp/\(elsewhere.path.split(separator: "/").last ?? "")")
    #expect(chmod(elsewhere.path, 0o777) == 0)
    let file = PartialFile(in: elsewhere)
    try file.write(Array("hello".utf8))
    file.close()
    #expect(file.url.path.hasPrefix(caches))
    #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere.path).isEmpty)
    let again = try PartialFile(resuming: try data(file.name, offset: 5), in: elsewhere)
    #expect(again.url == file.url)
    again.close()
    // Also when the place is free again.
    #expect(rmdir(elsewhere.path) == 0)
    try PartialFile(resuming: try data(file.name, offset: 5), in: elsewhere).close()
    try PartialFile(in: elsewhere).make()
    try PartialFile(resuming: try data(file.name, offset: 5), in: elsewhere).close()
  }

  @Test("What nobody resumed for a week goes when the directory is first used; what somebody holds stays")
  func theSweep() throws {
    try FileManager.default.createDirectory(
      atPath: directory.path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    func file(_ digit: Character, days: Double, name: String? = nil) throws -> String {
      let name = name ?? "download-" + String(repeating: digit, count: 32)
      try "x".write(toFile: directory.path(of: name), atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -days * 86_400)], ofItemAtPath: directory.path(of: name))
      return name
    }
    _ = try file("a", days: 7.1)
    var stays = [try file("b", days: 6.9), try file("c", days: 8), try file("d", days: 8, name: "Weir_download-x")]
    let held = try PartialFile(resuming: try data(stays[1], offset: 1), in: directory)
    let new = PartialFile(in: directory)
    try new.write([1])
    stays.append(new.name)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == stays.sorted())
    held.close()
    // Once for each process.
    try PartialFile(in: directory).make()
    #expect(FileManager.default.fileExists(atPath: directory.path(of: stays[1])))
  }

  @Test func aDirectoryBehindALinkIsRefused() throws {
    let real = try parent.directory("real")
    #expect(chmod(real, 0o700) == 0)
    try FileManager.default.createSymbolicLink(atPath: directory.path, withDestinationPath: real)
    #expect(throws: FileProblem.self) { try PartialFile(in: directory).write([1]) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: real).isEmpty)
  }

  @Test func whatSomebodyElsePutInItsPlaceStays() throws {
    let file = try left("hello")
    try FileManager.default.removeItem(at: file.url)
    try "other".write(to: file.url, atomically: false, encoding: .utf8)
    // A new file's number may be the old one's where that is free again: hold on to it.
    let another = PartialFile(in: directory)
    try another.write([1])
    try FileManager.default.removeItem(at: another.url)
    try FileManager.default.copyItem(at: file.url, to: another.url)
    another.remove()
    #expect(FileManager.default.fileExists(atPath: another.url.path))
  }

  // MARK: The move

  private func moved(_ text: String, to name: String, _ options: DownloadRequest.Options = []) throws -> Int64? {
    let file = try left(text)
    defer { #expect((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) == []) }
    return try file.move(to: URL(filePath: "\(parent.path)/\(name)"), options)
  }

  private func text(_ name: String) throws -> String {
    try String(contentsOfFile: "\(parent.path)/\(name)", encoding: .utf8)
  }

  private func refusal(_ name: String, _ options: DownloadRequest.Options = []) -> CocoaError? {
    let problem = #expect(throws: FileProblem.self) { try moved("new", to: name, options) }
    return problem?.moveError
  }

  @Test func itIsMoved() throws {
    #expect(try moved("new", to: "a") == 3)
    #expect(try text("a") == "new")
    #expect(refusal("a")?.code == .fileWriteFileExists)
    #expect(try text("a") == "new")
    #expect(try moved("newer", to: "a", .removePreviousFile) == 5)
    #expect(try text("a") == "newer")
  }

  @Test func directoriesAreMadeWhenAskedFor() throws {
    #expect(refusal("b/c/d")?.code == .fileNoSuchFile)
    #expect(!FileManager.default.fileExists(atPath: "\(parent.path)/b"))
    #expect(try moved("new", to: "b/c/d", .createIntermediateDirectories) == 3)
    #expect(try text("b/c/d") == "new")
    #expect(refusal("b/c/d/e", .createIntermediateDirectories) != nil, "a file is in the way")
  }

  @Test func aDirectoryIsNeverRemoved() throws {
    _ = try parent.directory("full")
    _ = try parent.file("full/kept", "x")
    for options in [[], .removePreviousFile, [.removePreviousFile, .createIntermediateDirectories]]
      as [DownloadRequest.Options]
    {
      #expect(refusal("full", options)?.localizedDescription.contains("directory") == true)
    }
    #expect(try text("full/kept") == "x")
  }

  @Test func aLinkIsReplacedAndNotFollowed() throws {
    _ = try parent.file("target", "kept")
    try FileManager.default.createSymbolicLink(
      atPath: "\(parent.path)/link", withDestinationPath: "\(parent.path)/target")
    #expect(refusal("link")?.code == .fileWriteFileExists)
    _ = try moved("new", to: "link", .removePreviousFile)
    #expect(try text("target") == "kept" && text("link") == "new")
  }

  @Test func placesThatCanNotBe() throws {
    for url in ["http://h/x", "data:x"] {
      let file = try left("new")
      #expect(throws: FileProblem.self) { _ = try file.move(to: try #require(URL(string: url)), []) }
      #expect(!FileManager.default.fileExists(atPath: file.url.path))
    }
    #expect(refusal(String(repeating: "x", count: 300))?.code == .fileWriteInvalidFileName)
  }

  @Test func itMayStayWhereItIs() throws {
    let file = try left("new")
    #expect(try file.move(to: file.url, []) == 3)
    #expect(try String(contentsOf: file.url, encoding: .utf8) == "new")
  }

  /// Another file system, where there is one that may be written to.
  private static let elsewhere: String? = {
    guard let shared = try? FileSystem.status(ofFile: "/dev/shm", followsLink: true),
      let temporary = try? FileSystem.status(ofFile: FileManager.default.temporaryDirectory.path, followsLink: true),
      shared.identity.device != temporary.identity.device, access("/dev/shm", W_OK) == 0
    else { return nil }
    return "/dev/shm"
  }()

  @Test(.enabled(if: elsewhere != nil, "no second file system at /dev/shm"))
  func toAnotherFileSystem() throws {
    let elsewhere = try #require(Self.elsewhere)
    let there = "\(elsewhere)/weir-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: there, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: there) }
    let text = String(repeating: "0123456789", count: 100_000)
    let target = URL(filePath: "\(there)/file")
    #expect(try left(text).move(to: target, []) == 1_000_000)
    #expect(try String(contentsOf: target, encoding: .utf8) == text)
    let problem = #expect(throws: FileProblem.self) { _ = try left("new").move(to: target, []) }
    #expect(problem?.moveError.code == .fileWriteFileExists)
    #expect(try left("new").move(to: target, .removePreviousFile) == 3)
    #expect(try FileManager.default.contentsOfDirectory(atPath: there) == ["file"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
  }
}

extension PartialFile {
  fileprivate func move(to destination: URL, _ options: DownloadRequest.Options) throws -> Int64? {
    try move(
      to: destination, makingDirectories: options.contains(.createIntermediateDirectories),
      replacing: options.contains(.removePreviousFile))
  }
}

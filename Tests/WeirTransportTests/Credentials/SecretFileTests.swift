import Foundation
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

@Suite("Secret files: what they may hold") struct SecretFileContentTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func value(_ bytes: [UInt8]) throws -> [UInt8] {
    try SecretFile(written(bytes), mark: { FileMark(ofFile: $0) }).octets
  }

  private func problem(_ bytes: [UInt8]) throws -> String? {
    try problem(at: written(bytes))
  }

  private func problem(at path: String) -> String? {
    #expect(throws: SecretFile.Problem.self) { try SecretFile(path, mark: { FileMark(ofFile: $0) }) }?.reason
  }

  private func written(_ bytes: [UInt8]) throws -> String {
    let path = try directory.file("secret")
    try Data(bytes).write(to: URL(filePath: path))
    return path
  }

  @Test(
    "One line end is dropped, LF or CRLF, and nothing else",
    arguments: [
      ("key", "key"), ("key\n", "key"), ("key\r\n", "key"), ("k", "k"), ("two words\n", "two words"),
      ("a\tb", "a\tb"), ("Schlüssel\n", "Schlüssel"), ("{client}", "{client}"), ("a\\nb", "a\\nb"),
    ])
  func lineEnds(content: String, expected: String) throws {
    #expect(try value(Array(content.utf8)) == Array(expected.utf8))
  }

  @Test("Octets that are no UTF-8 are kept for fields, and replaced in texts")
  func octets() throws {
    #expect(try value([0x6B, 0xFF, 0x0A]) == [0x6B, 0xFF])
    let file = try SecretFile(written([0x6B, 0xFF]), mark: { FileMark(ofFile: $0) })
    #expect(file.value == "k\u{FFFD}")
  }

  @Test(
    "What is no field value is a problem, in words without the content",
    arguments: [
      ("", "is empty"), ("\n", "is empty"), ("\r\n", "is empty"),
      ("key\n\n", "holds a control character, such as a second line end"),
      ("key\r", "holds a control character, such as a second line end"),
      ("a\r\nb", "holds a control character, such as a second line end"),
      ("a\u{0}b", "holds a control character, such as a second line end"),
      ("a\u{7F}", "holds a control character, such as a second line end"),
      (" key", "begins or ends with a blank"), ("key \n", "begins or ends with a blank"),
      ("\tkey", "begins or ends with a blank"),
    ])
  func problems(content: String, reason: String) throws {
    #expect(try problem(Array(content.utf8)) == reason)
  }

  @Test("64 KiB at most, without the line end")
  func limit() throws {
    let most = [UInt8](repeating: 0x61, count: 65_536)
    #expect(try value(most).count == 65_536)
    #expect(try value(most + [0x0A]).count == 65_536)
    #expect(try value(most + [0x0D, 0x0A]).count == 65_536)
    for more: [UInt8] in [[0x61], [0x61, 0x0A], [0x61, 0x0D, 0x0A], [0x61, 0x61, 0x61, 0x61]] {
      #expect(try problem(most + more) == "is larger than 64 KiB")
    }
    #expect(try problem(most + most) == "is larger than 64 KiB")
  }

  @Test("A regular file, or a link to one")
  func kinds() throws {
    let path = try directory.file("real", "key\n")
    let link = "\(directory.path)/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "real")
    #expect(try SecretFile(link, mark: { FileMark(ofFile: $0) }).value == "key")
    #expect(problem(at: "\(directory.path)/none") == "can't be read: No such file or directory")
    #expect(problem(at: directory.path) == "can't be read: Is a directory")
    #expect(problem(at: "/dev/null") == "is a device; give a regular file")
    let pipe = "\(directory.path)/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    #expect(problem(at: pipe) == "is a pipe; give a regular file")
    try FileManager.default.createSymbolicLink(atPath: "\(directory.path)/loose", withDestinationPath: "nowhere")
    #expect(problem(at: "\(directory.path)/loose") == "can't be read: No such file or directory")
    #expect(problem(at: "real") == "is no absolute path")
    #expect(problem(at: "") == "is no absolute path")
    let problem = #expect(throws: SecretFile.Problem.self) { try SecretFile("\(path)x") }
    #expect(problem.map { "\($0)" } == "\(path)x can't be read: No such file or directory")
  }
}

/// Looks at a file as the thread does, at times of its own.
private final class Follower {
  let directory: TemporaryDirectory
  let file: SecretFile
  private let reports = Reports()
  private var now = MonotonicTime(nanoseconds: 1_000_000_000_000)

  /// - Parameter prepare: Makes the file, and gives its name.
  init(_ prepare: (TemporaryDirectory) throws -> String = { try $0.file("key", "one\n") }) throws {
    directory = try TemporaryDirectory()
    file = try SecretFile(prepare(directory), mark: { FileMark(ofFile: $0) })
  }

  func followReports() {
    file.report { [reports] problem in
      if let problem { reports.texts.withLock { $0.append(problem.reason) } }
    }
  }

  /// Looks, half a second after the last look.
  @discardableResult
  func look(_ times: Int = 1) -> String {
    for _ in 0..<times {
      now = now.advanced(bySeconds: 0.5)
      file.look(at: now)
    }
    return file.value
  }

  var reported: [String] { reports.texts.withLock { $0 } }

  private final class Reports: Sendable {
    let texts = Mutex<[String]>([])
  }
}

@Suite("Secret files that are followed") struct SecretFileFollowingTests {
  @Test("New content counts at the second look that sees it, and changes the version once")
  func written() throws {
    let follower = try Follower()
    #expect(follower.look(3) == "one")
    #expect(follower.file.version == 1)
    try follower.directory.file("key", "second\r\n")
    #expect(follower.look() == "one")
    #expect(follower.file.version == 1)
    #expect(follower.look() == "second")
    #expect(follower.file.version == 2)
    #expect(follower.look(5) == "second")
    #expect(follower.file.version == 2)
  }

  @Test("The same content, written again, is no change")
  func same() throws {
    let follower = try Follower()
    try follower.directory.file("key", "one\r\n")
    #expect(follower.look(3) == "one")
    #expect(follower.file.version == 1)
  }

  @Test("What is still being written in place counts once it has come to rest")
  func inPlace() throws {
    let follower = try Follower()
    let path = follower.file.path
    for length in 1...6 {
      try Data(repeating: 0x62, count: length).write(to: URL(filePath: path))
      #expect(follower.look() == "one", "it differs from the look before")
    }
    #expect(follower.look() == "bbbbbb")
  }

  @Test("A file that changes while it is read does not count, and is read again")
  func whileRead() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.file("key", "one")
    let changes = Mutex<[String]>([])
    // The mark is found before and after reading; what changes between the two is written with the second.
    let finds = Mutex(0)
    let file = try SecretFile(path) { path in
      let count = finds.withLock { finds in
        finds += 1
        return finds
      }
      if count == 4, let text = changes.withLock({ $0.popLast() }) { _ = try? directory.file("key", text) }
      return FileMark(ofFile: path)
    }
    try directory.file("key", "half of")
    changes.withLock { $0 = ["half of it and the rest"] }
    file.look()
    file.look()
    #expect(finds.withLock { $0 } == 4)
    #expect(file.value == "one" && file.version == 1)
    file.look()
    #expect(file.value == "one")
    file.look()
    #expect(file.value == "half of it and the rest" && file.version == 2)
  }

  @Test("A file that is renamed into its place")
  func renamed() throws {
    let follower = try Follower()
    let new = try follower.directory.file("new", "two\n")
    #expect(rename(new, follower.file.path) == 0)
    #expect(follower.look() == "one")
    #expect(follower.look() == "two")
  }

  @Test("A link that is swapped, as Kubernetes does it: the directory behind it changes in one step")
  func swapped() throws {
    let follower = try Follower { directory in
      for (name, text) in [("..1", "one"), ("..2", "two")] {
        try text.write(toFile: "\(directory.directory(name))/token", atomically: false, encoding: .utf8)
      }
      let manager = FileManager.default
      try manager.createSymbolicLink(atPath: "\(directory.path)/..data", withDestinationPath: "..1")
      try manager.createSymbolicLink(atPath: "\(directory.path)/token", withDestinationPath: "..data/token")
      return "\(directory.path)/token"
    }
    let path = follower.directory.path
    #expect(follower.look(2) == "one")
    try FileManager.default.createSymbolicLink(atPath: "\(path)/..data_tmp", withDestinationPath: "..2")
    #expect(rename("\(path)/..data_tmp", "\(path)/..data") == 0)
    #expect(rmdir("\(path)/..1") != 0 && unlink("\(path)/..1/token") == 0)
    #expect(follower.look() == "one")
    #expect(follower.look() == "two")
    #expect(follower.file.problem == nil)
  }

  @Test("A file that is gone changes nothing, is a problem while it is gone, and none once it is back")
  func gone() throws {
    let follower = try Follower()
    #expect(unlink(follower.file.path) == 0)
    #expect(follower.look() == "one")
    #expect(follower.file.problem == nil, "it may be on its way")
    #expect(follower.look() == "one")
    #expect(follower.file.problem?.reason == "can't be read: No such file or directory")
    #expect(follower.file.version == 1)
    try follower.directory.file("key", "back again")
    #expect(follower.look() == "one")
    #expect(follower.file.problem != nil)
    #expect(follower.look() == "back again")
    #expect(follower.file.problem == nil)
    #expect(follower.file.version == 2)
  }

  @Test(
    "Content that is wrong changes nothing",
    arguments: [
      ("", "is empty"), ("two\nlines", "holds a control character, such as a second line end"),
      (" two", "begins or ends with a blank"), (String(repeating: "a", count: 65_537), "is larger than 64 KiB"),
    ])
  func wrong(content: String, reason: String) throws {
    let follower = try Follower()
    try follower.directory.file("key", content)
    #expect(follower.look(4) == "one")
    #expect(follower.file.problem?.reason == reason)
    #expect(follower.file.problem?.path == follower.file.path)
    #expect(follower.file.version == 1)
    try follower.directory.file("key", "one\n")
    #expect(follower.look(2) == "one")
    #expect(follower.file.problem == nil && follower.file.version == 1, "the last good value is the present one again")
  }

  @Test("Another kind of file in its place is a problem")
  func otherKind() throws {
    let follower = try Follower()
    #expect(unlink(follower.file.path) == 0)
    _ = try follower.directory.directory("key")
    #expect(follower.look(2) == "one")
    #expect(follower.file.problem?.reason == "can't be read: Is a directory")
    #expect(rmdir(follower.file.path) == 0 && mkfifo(follower.file.path, 0o600) == 0)
    #expect(follower.look(2) == "one")
    #expect(follower.file.problem?.reason == "is a pipe; give a regular file")
  }

  @Test(
    "A file that may not be read changes nothing, and is read once it may be",
    .enabled(if: geteuid() == 0, "takes the rights of somebody else"))
  func permission() throws {
    typealias SetID = @convention(c) (UInt32) -> CInt
    let setID = unsafeBitCast(try #require(dlsym(nil, "setfsuid")), to: SetID.self)
    let follower = try Follower()
    let new = try follower.directory.file("new", "two\n")
    chmod(new, 0o600)
    #expect(rename(new, follower.file.path) == 0)
    _ = setID(65_534)
    defer { _ = setID(geteuid()) }
    #expect(follower.look(3) == "one")
    #expect(follower.file.problem?.reason == "can't be read: Permission denied")
    _ = setID(geteuid())
    #expect(follower.look(2) == "two")
    #expect(follower.file.problem == nil)
  }

  @Test("A problem is reported when it is found, once a minute while it lasts, and anew after it was gone")
  func reports() throws {
    let follower = try Follower()
    follower.followReports()
    #expect(unlink(follower.file.path) == 0)
    follower.look()
    #expect(follower.reported == [])
    follower.look(120)
    let gone = "can't be read: No such file or directory"
    #expect(follower.reported == [gone])
    follower.look()
    #expect(follower.reported == [gone, gone])
    try follower.directory.file("key", "back")
    follower.look(2)
    #expect(unlink(follower.file.path) == 0)
    follower.look(2)
    #expect(follower.reported == [gone, gone, gone])
  }

  @Test("What came to be wrong before anybody asked for reports is reported at the next look")
  func lateReports() throws {
    let follower = try Follower()
    try follower.directory.file("key", "")
    follower.look(3)
    follower.followReports()
    #expect(follower.look() == "one")
    #expect(follower.reported == ["is empty"])
  }

  @Test("The thread follows files by itself, those that come later too, and lets go of what nobody holds")
  func thread() async throws {
    let directory = try TemporaryDirectory()
    let first = try SecretFile(directory.file("first", "one"))
    weak var dropped: SecretFile?
    do {
      let file = try SecretFile(directory.file("dropped", "one"))
      dropped = file
      #expect(file.value == "one")
    }
    try directory.file("first", "second one\n")
    try await eventually("the first is read again") { first.value == "second one" }
    try await eventually("the other is gone") { dropped == nil }
    let second = try SecretFile(directory.file("second", "one"))
    try directory.file("second", "three")
    try await eventually("the second is read again") { second.value == "three" }
    #expect(first.version == 2 && second.version == 2)
  }
}

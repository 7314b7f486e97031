import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway

@Suite struct ConfigurationWatchTests {
  /// Each look is what the files `a` and `b` look like then, by the numbers of their contents; a blank for a missing
  /// file. `!` is a look that is answered by a reload, with the files as they are.
  @Test(
    arguments: [
      (["11", "11", "11"], []),
      // A change counts once it is still.
      (["11", "21", "21"], [2]),
      (["11", "21", "31", "31"], [3]),
      (["21", "22", "22"], [2]),
      // Changed and back.
      (["11", "21", "11", "11"], []),
      // Until it is read, the answer stays.
      (["21", "21", "21"], [1, 2]),
      // What was read is not read again, well or not.
      (["21", "21!", "21", "21", "31", "31"], [1, 5]),
      // A file that is gone is no change before it is back.
      (["1 ", "1 ", "1 "], []),
      (["1 ", "11", "11"], []),
      (["1 ", "12", "12"], [2]),
      (["  ", "  ", "21", "21"], [3]),
      // It keeps no other change from being followed. Then it was missing when the files were read, and is new.
      (["1 ", "2 ", "2 !", "2 ", "21", "21"], [2, 5]),
      // A file that never rests does not keep the other from being read.
      (["11", "22", "23", "22", "23!", "23", "22", "21", "21"], [4, 8]),
    ] as [([String], [Int])])
  func decides(looks: [String], expected: [Int]) throws {
    let directory = try TemporaryDirectory()
    let marks = try (1...3).map { try #require(FileMark(ofFile: directory.file("\($0)", "x"))) }
    var watch = ConfigurationWatch()
    watch.wereRead(["a", "b"], ["a": marks[0], "b": marks[0]])
    var reloads: [Int] = []
    for (index, look) in looks.enumerated() {
      var now: [String: FileMark] = [:]
      for (name, digit) in zip(["a", "b"], look) {
        if let number = digit.wholeNumberValue { now[name] = marks[number - 1] }
      }
      if watch.look(now) { reloads.append(index) }
      if look.hasSuffix("!") { watch.wereRead(["a", "b"], now) }
    }
    #expect(reloads == expected)
  }

  /// Good files that could not be followed: after 1, 2, 4 looks, and at once where they change, be it back.
  @Test func triesAgainMoreAndMoreSeldom() throws {
    let directory = try TemporaryDirectory()
    let marks = try ["1", "2"].map { ["a": try #require(FileMark(ofFile: directory.file($0, "x")))] }
    var watch = ConfigurationWatch()
    watch.wereRead(["a"], marks[0])
    var waits: [Int] = []
    for _ in 0..<4 {
      watch.wereRead(["a"], marks[1], areFollowed: false)
      waits.append((1...100).first { _ in watch.look(marks[1]) } ?? 0)
    }
    #expect(waits == [1, 2, 4, 8])
    watch.wereRead(["a"], marks[1], areFollowed: false)
    let looks = [watch.look(marks[0]), watch.look(marks[0])]
    #expect(looks == [false, true])
    watch.wereRead(["a"], marks[0])
    let later = (0..<200).contains { _ in watch.look(marks[0]) }
    #expect(!later)
  }

  /// Not at the first look, which may fall between two steps of a change; once, until the file is back.
  @Test func tellsOfAFileThatIsGone() throws {
    let directory = try TemporaryDirectory()
    let mark = try #require(FileMark(ofFile: directory.file("a", "x")))
    var watch = ConfigurationWatch()
    watch.wereRead(["a", "b", "never"], ["a": mark, "b": mark])
    let told = ["ab", "a", "ab", "a", "a", "a", "", "", "ab", "b", "b"].map { look in
      let marks = Dictionary(uniqueKeysWithValues: look.map { (String($0), mark) })
      let gone = watch.newlyGone(marks)
      let isDue = watch.look(marks)
      #expect(!isDue)
      return gone.joined()
    }
    #expect(told == ["", "", "", "", "b", "", "", "a", "", "", "a"])
  }

  @Test func notesTheFilesThatAreRead() throws {
    let directory = try TemporaryDirectory()
    let users = try directory.file("users.yml", "bearer_tokens: [abc]")
    let authority = try directory.file("ca.pem", "none")
    let missing = try directory.file("missing.pem")
    let file = try directory.file(
      "weir.yml",
      """
      listeners:
        - { name: a, address: ":0", tls: { certificates: [{ certificate: \(missing), key: \(missing) }] } }
      routes:
        - { name: a, upstream: { url: "https://a", tls: { ca: \(authority) } }, auth: { file: \(users) } }
      """)
    let reads = FilesRead()
    #expect(throws: ConfigurationError.self) { try Configuration(file: file, noting: reads) }
    #expect(reads.paths == [file, users, authority, missing])
    #expect(Set(reads.marks.keys) == [file, users, authority])
  }
}

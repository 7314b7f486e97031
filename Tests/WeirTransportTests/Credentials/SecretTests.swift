import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

@Suite("Secrets") struct SecretTests {
  private let directory: TemporaryDirectory
  private let file: SecretFile

  init() throws {
    directory = try TemporaryDirectory()
    file = try SecretFile(directory.file("key", "hidden-in-file\n"), mark: { FileMark(ofFile: $0) })
  }

  @Test("The value is the text, or what the file holds when it is asked, between two texts")
  func values() throws {
    let text: Secret = "hidden"
    #expect(text.value == "hidden" && text.octets == Array("hidden".utf8))
    #expect(text.version == 0 && text.file == nil)
    let secret = Secret(file, prefix: "Bearer ", suffix: "!")
    #expect(secret.value == "Bearer hidden-in-file!" && Secret(file).value == "hidden-in-file")
    #expect(secret.version == 1 && secret.file === file)
    try directory.file("key", "new\n")
    file.look()
    file.look()
    #expect(secret.value == "Bearer new!" && secret.version == 2)
  }

  @Test("Two are equal by their source, not by what a file holds")
  func equality() throws {
    let again = try SecretFile(file.path, mark: { FileMark(ofFile: $0) })
    #expect(Secret("a") == Secret("a") && Secret("a") != Secret("b"))
    #expect(Secret(file) == Secret(again) && Set([Secret(file), Secret(again)]).count == 1)
    #expect(Secret(file) != Secret(file, prefix: "Bearer ") && Secret(file) != Secret(file, suffix: "!"))
    #expect(Secret(file) != Secret("hidden-in-file"))
    let other = try SecretFile(directory.file("other", "hidden-in-file"), mark: { FileMark(ofFile: $0) })
    #expect(Secret(file) != Secret(other))
  }

  @Test("Nothing that prints them shows a value")
  func printed() throws {
    struct Holder {
      let secrets: [Secret]
      let file: SecretFile
      let optional: Secret?
    }
    let secrets = [Secret("hidden-text"), Secret(file, prefix: "hidden-prefix", suffix: "hidden-suffix")]
    let holder = Holder(secrets: secrets, file: file, optional: secrets[0])
    var texts: [String] = []
    for value in secrets as [Any] + [file, holder, ["key": secrets[0]], Set(secrets)] {
      texts += [String(describing: value), String(reflecting: value), "\(value)"]
      var dumped = ""
      dump(value, to: &dumped)
      texts.append(dumped)
    }
    for text in texts { #expect(!text.contains("hidden"), "\(text)") }
    #expect("\(secrets[0])" == "(secret)" && "\(secrets[1])" == "(secret in \(file.path))")
    #expect("\(file)" == file.path)
    #expect(Mirror(reflecting: secrets[0]).children.isEmpty)
  }

  @Test("A problem shows the path and the reason, and nothing of the content")
  func problems() throws {
    let path = try directory.file("wrong", "hidden\nlines")
    let problem = #expect(throws: SecretFile.Problem.self) { try SecretFile(path) }
    for text in [problem.map { "\($0)" } ?? "", String(reflecting: problem)] {
      #expect(text.contains(path) && !text.contains("hidden"))
    }
  }
}

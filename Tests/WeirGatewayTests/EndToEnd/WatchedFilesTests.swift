import Foundation
import Testing
import WeirTestSupport

/// `--config.watch` of the program itself. Files are changed as Kubernetes changes those of a ConfigMap: they are links
/// into `..data`, itself a link to a directory, which is replaced by renaming a new link over it.
@Suite(.slow) struct WatchedFilesTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// Makes a version of all files hold at once.
  private func mount(_ version: String, _ files: [String: String]) throws {
    let manager = FileManager.default
    let folder = try directory.directory("..\(version)")
    for (name, text) in files {
      try text.write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
      let link = try directory.file(name)
      if (try? manager.destinationOfSymbolicLink(atPath: link)) == nil {
        try manager.createSymbolicLink(atPath: link, withDestinationPath: "..data/\(name)")
      }
    }
    let new = try directory.file("..data_tmp")
    try manager.createSymbolicLink(atPath: new, withDestinationPath: "..\(version)")
    #expect(rename(new, try directory.file("..data")) == 0)
  }

  private func routes(answering text: String) throws -> String {
    let users = try directory.file("users.yml")
    return """
      routes:
        - { name: a, respond: { status: 200, body: \(text) } }
        - { name: b, match: { path: /closed }, auth: { file: \(users) }, respond: { status: 200, body: open } }

      """
  }

  private static func answer(_ port: UInt16?, _ path: String = "/", token: String = "none") throws -> String? {
    let client = try RawClient(port: port ?? 0)
    client.send("GET \(path) HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\nConnection: close\r\n\r\n")
    return client.response()?.text
  }

  @Test func filesTakeEffectWithoutASignal() throws {
    try mount("1", ["weir.yml": routes(answering: "one"), "users.yml": "bearer_tokens: [first]"])
    let weir = try WeirProcess(
      "serve", "--config.file=\(directory.file("weir.yml"))", "--config.watch=1s",
      "--gateway.listen-address=127.0.0.1:0", "--web.listen-address=127.0.0.1:0")
    #expect(eventually { weir.port(of: "forwarding") != nil })
    let port = weir.port(of: "forwarding")
    #expect(try Self.answer(port) == "one")

    // Both files at once: one reload.
    try mount("2", ["weir.yml": routes(answering: "two"), "users.yml": "bearer_tokens: [second]"])
    #expect(eventually { weir.count(of: "configuration reloaded") == 1 })
    #expect(try Self.answer(port) == "two")
    #expect(try Self.answer(port, "/closed", token: "second") == "open")

    // A file that the configuration names.
    try mount("3", ["weir.yml": routes(answering: "two"), "users.yml": "bearer_tokens: 3"])
    #expect(eventually { weir.count(of: "the configuration stays as it was") == 1 })
    #expect(try Self.answer(port, "/closed", token: "second") == "open")

    // What was refused is not tried again before it changes.
    try mount("4", ["weir.yml": routes(answering: "four"), "users.yml": "bearer_tokens: [third]"])
    #expect(eventually { weir.count(of: "configuration reloaded") == 2 })
    #expect(try Self.answer(port) == "four")
    #expect(try Self.answer(port, "/closed", token: "third") == "open")
    #expect(weir.count(of: "the configuration stays as it was") == 1)
    #expect(weir.count(of: "files of the configuration are read again") == 3)
    weir.send(SIGTERM)
    #expect(eventually { weir.exitStatus != nil })
    #expect(weir.exitStatus == 0)
  }
}

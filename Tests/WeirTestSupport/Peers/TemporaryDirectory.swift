import Foundation

/// A directory of a test's own, removed with all it holds when the last reference goes.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init() throws {
    path = "\(PeerKeeper.shared.directory)/\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of a file in it, which is written if there is text for it.
  @discardableResult
  package func file(_ name: String, _ text: String? = nil) throws -> String {
    let file = "\(path)/\(name)"
    try text?.write(toFile: file, atomically: false, encoding: .utf8)
    return file
  }

  package func directory(_ name: String) throws -> String {
    let directory = "\(path)/\(name)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    return directory
  }
}

import Foundation
import Glibc
import WeirIO

/// Where bodies are kept until they are complete: a directory that nobody else may look into.
///
/// Its place is always the same, so that resume data has to name a file only and can lead nowhere else.
struct PartialDirectory: Sendable {
  let path: String

  /// - Parameter path: nil: one of this user's in the system's temporary directory.
  init(_ path: String?) {
    self.path =
      path ?? FileManager.default.temporaryDirectory.appendingPathComponent("weir.downloads.\(geteuid())").path
  }

  func path(of name: String) -> String { "\(path)/\(name)" }

  /// A descriptor of the directory, which is made where it is not there. The caller closes it.
  func open(makingIt: Bool) throws(FileProblem) -> CInt {
    do throws(Errno) {
      if makingIt { try make() }
      let descriptor = try FileSystem.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      do throws(Errno) {
        guard isPrivate(try FileSystem.status(of: descriptor)) else { throw Errno.notPermitted }
        return descriptor
      } catch {
        FileSystem.close(descriptor)
        throw error
      }
    } catch {
      let text = error == .notPermitted ? "it is not this user's alone; remove it" : nil
      throw FileProblem(path, error, text)
    }
  }

  private func make() throws(Errno) {
    do throws(Errno) {
      try FileSystem.makeDirectory(path, permissions: 0o700)
    } catch {
      if error != .exists { throw error }
    }
  }

  private func isPrivate(_ status: FileStatus) -> Bool {
    status.kind == .directory && status.owner == geteuid() && status.permissions & 0o077 == 0
  }
}

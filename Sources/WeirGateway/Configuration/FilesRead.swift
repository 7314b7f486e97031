package import WeirIO

/// Notes which files are read for a configuration, each with its mark from before that. So a file that changes while it
/// is read looks changed afterwards. For one reader at a time.
package final class FilesRead {
  /// The paths, of missing files too.
  package private(set) var paths: Set<String> = []
  /// The marks of the files that were there, by their paths.
  package private(set) var marks: [String: FileMark] = [:]

  package init() {}

  func note(_ path: String) { note(path, FileMark(ofFile: path)) }

  /// The first mark of a file counts.
  func note(_ path: String, _ mark: FileMark?) {
    guard paths.insert(path).inserted else { return }
    marks[path] = mark
  }
}

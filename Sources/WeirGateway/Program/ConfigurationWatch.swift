import WeirIO

/// Decides at each look at the files of the configuration whether they are to be read again. A value.
///
/// A file has changed if it is there and looks other than when it was read last. Changes count once all files have looked
/// the same for two looks, since a file may be half written, and several may change together. A file that is gone has not
/// changed until it is back. Files that were read and refused are not read again before they change again.
struct ConfigurationWatch: Equatable {
  /// The files that were read last, also those that were missing.
  private(set) var paths: Set<String> = []
  private var marksWhenRead: [String: FileMark] = [:]
  private var marksBefore: [String: FileMark] = [:]

  /// - Parameters:
  ///   - paths: The files that were read, well or not.
  ///   - marks: Their marks from before that; none for a missing file.
  mutating func wereRead(_ paths: Set<String>, _ marks: [String: FileMark]) {
    self.paths = paths
    marksWhenRead = marks
  }

  /// - Parameter marks: What the files look like now; none for a missing file.
  /// - Returns: Whether the files are to be read again. The answer stays the same until they are.
  mutating func look(_ marks: [String: FileMark]) -> Bool {
    defer { marksBefore = marks }
    return marks == marksBefore && marks.contains { path, mark in marksWhenRead[path] != mark }
  }
}

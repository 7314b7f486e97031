import WeirIO

/// Decides at each look at files whether they are to be read, and whether there is anything new in them. A value.
struct TLSFilesHistory: Equatable {
  /// The result of reading all files.
  enum Content: Equatable {
    case bytes([[UInt8]])
    case unreadable(TLSFilesProblem)
  }

  /// The files' marks when they were read last; nil for a file that was not there.
  private var marks: [FileMark?]
  /// The content that was judged last, good or bad.
  private var judged: Content

  init(marks: [FileMark?], judged: Content) {
    self.marks = marks
    self.judged = judged
  }

  /// Files that could not be read are read again even if they look the same, since new permissions leave no mark.
  func wantsReading(_ marks: [FileMark?]) -> Bool {
    if case .unreadable = judged { true } else { marks != self.marks }
  }

  /// Notes what was read. Returns whether the content is new, and so to be judged.
  ///
  /// - Parameters:
  ///   - before: The marks before reading.
  ///   - after: The marks after it. Files that change meanwhile are read again at the next look.
  mutating func note(_ content: Content, before: [FileMark?], after: [FileMark?]) -> Bool {
    guard before == after else { return false }
    marks = after
    guard content != judged else { return false }
    judged = content
    return true
  }
}

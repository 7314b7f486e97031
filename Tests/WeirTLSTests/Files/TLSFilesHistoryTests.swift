import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTLS

@Suite struct TLSFilesHistoryTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = try directory.file("one", "a")
  }

  /// An expectation can't change a value.
  private final class Shared {
    private var history: TLSFilesHistory

    init(marks: [FileMark?], judged: TLSFilesHistory.Content) {
      history = TLSFilesHistory(marks: marks, judged: judged)
    }

    func wantsReading(_ marks: [FileMark?]) -> Bool { history.wantsReading(marks) }

    func note(_ content: TLSFilesHistory.Content, before: [FileMark?], after: [FileMark?]) -> Bool {
      history.note(content, before: before, after: after)
    }
  }

  /// The marks after the file has got another size.
  private func marks(length: Int) throws -> [FileMark?] {
    try directory.file("one", String(repeating: "a", count: length))
    return [FileMark(ofFile: path), nil]
  }

  @Test func onlyNewContentIsJudged() throws {
    let first = try marks(length: 1)
    let history = Shared(marks: first, judged: .bytes([[1], [2]]))
    #expect(!history.wantsReading(first))
    let second = try marks(length: 2)
    #expect(history.wantsReading(second))
    // Touched, with the same bytes in it.
    #expect(!history.note(.bytes([[1], [2]]), before: second, after: second))
    #expect(!history.wantsReading(second))
    let third = try marks(length: 3)
    #expect(history.note(.bytes([[1], [3]]), before: third, after: third))
    #expect(!history.wantsReading(third))
    #expect(history.wantsReading([third[0], third[0]]))
    #expect(history.wantsReading([nil, nil]))
  }

  @Test func filesThatChangeMeanwhileAreReadAgain() throws {
    let first = try marks(length: 1), second = try marks(length: 2), third = try marks(length: 3)
    let history = Shared(marks: first, judged: .bytes([[1]]))
    #expect(!history.note(.bytes([[2]]), before: second, after: third))
    #expect(history.wantsReading(second) && history.wantsReading(third))
    #expect(history.note(.bytes([[2]]), before: third, after: third))
  }

  /// New permissions leave no mark.
  @Test func unreadableFilesAreReadAgainAndReportedOnce() throws {
    let marks = try marks(length: 1)
    let problem = TLSFilesProblem("a can't be read", file: 0)
    let history = Shared(marks: marks, judged: .bytes([[1]]))
    #expect(history.note(.unreadable(problem), before: [nil, nil], after: [nil, nil]))
    for _ in 0..<2 {
      #expect(history.wantsReading([nil, nil]))
      #expect(!history.note(.unreadable(problem), before: [nil, nil], after: [nil, nil]))
    }
    #expect(history.note(.unreadable(TLSFilesProblem("b")), before: [nil, nil], after: [nil, nil]))
    #expect(history.note(.bytes([[1]]), before: marks, after: marks))
    #expect(!history.wantsReading(marks))
  }
}

import Testing
import WeirTestSupport

/// Compares the bytes, events, errors and connections of each case with the recorded table.
/// An engine without a recording with this libcurl is left out.
@Suite(.slow, .timeLimit(.minutes(5)))
struct EngineRecordingTests {
  /// Rows that run at a time. Most of them wait. Under a sanitizer so many would take longer than the waits they time.
  private static let parallelRows = ThisProcess.isSanitized ? 3 : 24

  @Test(arguments: EngineUnderTest.allCases.filter { EngineRecording($0).exists })
  func theEngineDoesWhatWasRecorded(engine: EngineUnderTest) async throws {
    let cases = EngineCase.all
    #expect(Set(cases.map(\.name)).count == cases.count, "names of cases")
    #expect(cases.count >= 60)
    try EngineRecording(engine).check(EngineTable(rows: try await rows(of: cases, engine)))
  }

  private func rows(of cases: [EngineCase], _ engine: EngineUnderTest) async throws -> [EngineTable.Row] {
    try await withThrowingTaskGroup(of: (Int, EngineTable.Row).self) { group in
      var rows: [EngineTable.Row?] = Array(repeating: nil, count: cases.count)
      for (index, example) in cases.enumerated() {
        if index >= Self.parallelRows, let (done, row) = try await group.next() { rows[done] = row }
        group.addTask { (index, try await EngineTrial.row(example, engine)) }
      }
      for try await (done, row) in group { rows[done] = row }
      return rows.compactMap(\.self)
    }
  }
}

extension EngineCase {
  /// All rows of the table. Those that wait longest come first.
  static var all: [EngineCase] {
    expectations + idleConnections + targets + fields + bodies + refusals + challenges + connections + interimHeads
      + statusLines + heads + lengths + codings + chunks + ends
  }
}

import Testing
import WeirIO

@testable import WeirServer

@Suite struct AcceptFailureTests {
  @Test(arguments: [
    (Errno.wouldBlock, true, true, AcceptFailure.nothing),
    (.connectionAborted, true, true, .nothing),
    (.invalidArgument, false, true, .end),
    (.invalidArgument, true, true, .pause),
    (.tooManyOpenFiles, true, true, .evict),
    (.tooManyOpenFilesInSystem, true, true, .evict),
    // What was given up for this connection has gone to somebody else of the process.
    (.tooManyOpenFiles, true, false, .pause),
    (.tooManyOpenFilesInSystem, true, false, .pause),
  ])
  func whatFollows(error: Errno, isListening: Bool, mayEvict: Bool, failure: AcceptFailure) {
    #expect(AcceptFailure(error, isListening: isListening, mayEvict: mayEvict) == failure)
  }
}

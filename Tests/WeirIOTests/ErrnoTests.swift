import Glibc
import Testing
import WeirIO

@Suite struct ErrnoTests {
  @Test func interruptedCallsAreRepeated() throws {
    var calls = 0
    let result: Int = try systemCall {
      calls += 1
      errno = EINTR
      return calls < 3 ? -1 : 7
    }
    #expect(result == 7)
    #expect(calls == 3)
  }

  @Test func failuresAreThrown() {
    #expect(throws: Errno(rawValue: EBADF)) { try systemCall { close(-1) } }
  }

  @Test(arguments: [(EPIPE, "Broken pipe"), (12345, "error 12345")])
  func descriptions(code: CInt, text: String) {
    #expect(Errno(rawValue: code).description == text)
  }
}

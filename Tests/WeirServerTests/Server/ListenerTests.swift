import Foundation
import Glibc
import Testing
import WeirIO
import WeirServer

/// The file of a Unix socket goes with its listener, and with no other.
@Suite struct ListenerTests {
  private let path = "/tmp/weir-test-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"

  @Test func theFileGoesWithItsListener() throws {
    let listener = try Listener(.unix(path: path))
    #expect(access(path, F_OK) == 0)
    listener.close()
    #expect(access(path, F_OK) != 0)
  }

  /// As when a new process replaces one that is still to end.
  @Test func theFileOfAnotherListenerStays() throws {
    let old = try Listener(.unix(path: path))
    unlink(path)
    let new = try Listener(.unix(path: path))
    old.close()
    try Socket.connecting(to: .unix(path: path)).close()
    new.close()
    #expect(access(path, F_OK) != 0)
  }

  @Test func anotherFileInItsPlaceStays() throws {
    defer { unlink(path) }
    let listener = try Listener(.unix(path: path))
    unlink(path)
    try "mine".write(toFile: path, atomically: false, encoding: .utf8)
    listener.close()
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
  }
}

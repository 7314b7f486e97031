import CLinux
import Foundation
import Glibc
import Synchronization

/// Kills what is left of a test's peers, and removes their files, when the test process ends, however it ends: a crash
/// runs no `deinit`, and neither does what is shared by all tests.
///
/// It is a shell that reads from us which process groups there are. When we are gone, its input ends.
final class PeerKeeper: Sendable {
  static let shared = PeerKeeper()

  /// The directory that holds those of all tests.
  let directory = "\(NSTemporaryDirectory())/weir-tests-\(getpid())-\(UInt32.random(in: 0 ... .max))"

  private static let script = """
    groups=' '
    while read -r change group; do
      case $change in
        keep) groups="$groups-$group " ;;
        forget) groups="${groups%%-$group *}${groups#*-$group }" ;;
      esac
    done
    [ "$groups" = ' ' ] || kill -9 $groups
    rm -rf "$0"
    """

  private let input: Mutex<CInt>

  private init() {
    try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    // Not a pipe, whose ends would be inherited by a program that another thread starts just now.
    var ends: [CInt] = [-1, -1]
    guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      input = Mutex(-1)
      return
    }
    // With its output nowhere: whoever reads a test run's output through a pipe would wait for it.
    _ = try? ChildProcess(arguments: ["-c", Self.script, directory], input: ends[0]).spawn("/bin/sh")
    close(ends[0])
    input = Mutex(ends[1])
  }

  func keep(_ group: pid_t) { tell("keep \(group)\n") }

  func forget(_ group: pid_t) { tell("forget \(group)\n") }

  private func tell(_ line: String) {
    let bytes = Array(line.utf8)
    input.withLock { _ = Glibc.send($0, bytes, bytes.count, CInt(MSG_NOSIGNAL)) }
  }
}

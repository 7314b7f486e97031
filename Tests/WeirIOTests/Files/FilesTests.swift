import Glibc
import Testing
import WeirIO
import WeirTestSupport

@Suite("Files and directories")
struct FilesTests {
  private let home: TemporaryDirectory

  init() throws {
    home = try TemporaryDirectory()
  }

  @Test func onlyRegularFilesAreOpened() throws {
    let path = try home.file("file", "hello")
    let (descriptor, size) = try FileSystem.openRegular(path)
    defer { FileSystem.close(descriptor) }
    #expect(size == 5)
    // Nobody waits for the writer of a pipe.
    let pipe = "\(home.path)/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    #expect(throws: Errno.notRegular) { _ = try FileSystem.openRegular(pipe) }
    #expect(throws: Errno.notRegular) { _ = try FileSystem.openRegular("/dev/null") }
    #expect(throws: Errno.isDirectory) { _ = try FileSystem.openRegular(home.path) }
    #expect(throws: Errno.noSuchFile) { _ = try FileSystem.openRegular("\(home.path)/none") }
  }

  @Test("A private directory is this user's alone", arguments: [false, true])
  func privateDirectory(isReadable: Bool) throws {
    let path = "\(home.path)/own"
    let directory = PrivateDirectory(path, isReadable: isReadable)
    #expect(throws: Errno.noSuchFile) { _ = try directory.open(makingIt: false) }
    try directory.make()
    #expect(try FileSystem.status(ofFile: path).permissions == 0o700)
    try directory.make()
    for (permissions, isRefused) in [(0o755, !isReadable), (0o770, true), (0o702, true), (0o700, false)]
      as [(UInt32, Bool)]
    {
      #expect(chmod(path, permissions) == 0)
      #expect(((try? directory.make()) == nil) == isRefused, "\(String(permissions, radix: 8))")
    }
    let link = "\(home.path)/link"
    #expect(symlink(path, link) == 0)
    #expect((try? PrivateDirectory(link).make()) == nil)
    let file = try home.file("file", "")
    #expect((try? PrivateDirectory(file).make()) == nil)
  }
}

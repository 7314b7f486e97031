import FuzzSupport
import Synchronization

// What must hold whatever an upstream sends: nothing is read or written outside of memory, in libcurl either; each
// request ends, once; a request that follows gets its own answer; requests stay well-formed, where redirects lead too;
// no descriptor is lost.
//
// Of the options, the lowest two choose the serializer; the others are validation, redirects that aren't followed, a
// look at the head, cancelling there, no retry, and a session that keeps cookies and responses.
private func check(_ bytes: UnsafeRawBufferPointer) {
  guard let input = FuzzInput(bytes) else { return }
  rig.withLock { $0.check(input) }
}

private let rig = Mutex(ClientRig())

#if FUZZING
  @_cdecl("LLVMFuzzerTestOneInput")
  public func fuzz(_ start: UnsafeRawPointer?, _ count: Int) -> CInt { checkInput(start, count, check) }
#else
  @main enum Main {
    static func main() throws { try checkFiles(check) }
  }
#endif

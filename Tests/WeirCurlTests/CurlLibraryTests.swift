import Foundation
import Testing

@testable import WeirCurl

/// Which libcurl these tests have.
@Suite
struct CurlLibraryTests {
  @Test
  func isTheOneThatWasAskedFor() throws {
    #expect(CurlLibrary.version.hasPrefix("\(CurlLibrary.versionNumber >> 16)."))
    guard let wanted = ProcessInfo.processInfo.environment["WEIR_TEST_LIBCURL"] else { return }
    #expect(CurlLibrary.version == wanted)
  }
}

import Foundation
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§8.3 Downloads: how a file gets its place")
struct DownloadMoveTests {
  private static let remove = DownloadRequest.Options.removePreviousFile
  private static let create = DownloadRequest.Options.createIntermediateDirectories

  @Test func plans() {
    let table: [(DownloadMove.Occupant, Bool, DownloadRequest.Options, DownloadMove.Plan)] = [
      (.nobody, true, [], .move(makingDirectories: false, replacing: false)),
      (.nobody, true, Self.remove, .move(makingDirectories: false, replacing: true)),
      (.nobody, true, Self.create, .move(makingDirectories: false, replacing: false)),
      (.nobody, false, [], .refuse(.noDirectory)),
      (.nobody, false, Self.remove, .refuse(.noDirectory)),
      (.nobody, false, Self.create, .move(makingDirectories: true, replacing: false)),
      (.nobody, false, [Self.create, Self.remove], .move(makingDirectories: true, replacing: true)),
      (.file, true, [], .refuse(.exists)),
      (.file, true, Self.create, .refuse(.exists)),
      (.file, true, Self.remove, .move(makingDirectories: false, replacing: true)),
      (.directory, true, [], .refuse(.isDirectory)),
      (.directory, true, [Self.create, Self.remove], .refuse(.isDirectory)),
      (.itself, true, [], .stay), (.itself, true, Self.remove, .stay),
    ]
    for (occupant, hasDirectory, options, plan) in table {
      let move = DownloadMove(occupant: occupant, hasDirectory: hasDirectory)
      let (create, remove) = (options.contains(Self.create), options.contains(Self.remove))
      #expect(move.plan(makingDirectories: create, replacing: remove) == plan)
    }
  }

  @Test func theOptionsHaveTheirBits() {
    #expect(Self.create.rawValue == 1 && Self.remove.rawValue == 2)
  }
}

@Suite("§8.3 Downloads: suggested file names")
struct SuggestedFileNameTests {
  private func name(_ disposition: String?, _ url: String = "http://h/dir/file.zip") -> String? {
    SuggestedFileName(disposition: disposition, url: URL(string: url))?.text
  }

  @Test func namesOfTheResponse() {
    #expect(name("attachment; filename=\"report.pdf\"") == "report.pdf")
    #expect(name("attachment; filename=report.pdf") == "report.pdf")
    #expect(name("attachment; FileName = \"a \\\"b\\\".pdf\"") == "a \"b\".pdf")
    #expect(name("attachment; filename=\"a.txt\"; filename*=UTF-8''%e2%82%ac.txt") == "€.txt")
    #expect(name("attachment; filename*=iso-8859-1''a.txt; filename=\"b.txt\"") == "b.txt")
    #expect(name("filename=\"first is the type\"") == "file.zip")
  }

  @Test func namesOfTheURL() {
    #expect(name(nil) == "file.zip")
    #expect(name("inline") == "file.zip")
    #expect(name(nil, "http://h/a%20b.txt?x=1") == "a b.txt")
    #expect(name(nil, "http://h/") == nil)
    #expect(name(nil, "http://h") == nil)
    #expect(name(nil, "http://h/%2e%2e") == nil)
    #expect(name(nil, "http://h/..%2f..%2fetc%2fpasswd") == "etcpasswd")
  }

  @Test("No file is hidden, or one that a server reads its settings from")
  func leadingDots() {
    #expect(name("attachment; filename=\".htaccess\"") == "htaccess")
    #expect(name("attachment; filename=\" ..  .bashrc\"") == "bashrc")
    #expect(name(nil, "http://h/.profile") == "profile")
    #expect(name("attachment; filename=\"a.b.\"") == "a.b.")
    for odd in [".\u{301}x", ".\u{200D}x", ".\u{FE0F}x", "\u{200B}.bashrc", ".\u{200B}.bashrc", " \u{200B} .x"] {
      #expect(SuggestedFileName(odd)?.text.utf8.first != UInt8(ascii: "."))
    }
  }

  @Test(
    "A name leads nowhere else",
    arguments: ["/", "", ".", "..", "//", "./", "\u{0}", "../", "..\\", " ", "\n", "...", ". ."])
  func hostile(_ text: String) {
    #expect(SuggestedFileName(text) == nil, "\(text.debugDescription)")
  }

  @Test func separatorsAndControlsAreTakenOut() {
    #expect(name("attachment; filename=\"../../etc/passwd\"") == "etcpasswd")
    #expect(name("attachment; filename=\"C:\\\\x\\\\y.txt\"") == "C:xy.txt")
    #expect(name("attachment; filename*=UTF-8''..%2F..%2Fx%00y%0d%0a") == "xy")
    #expect(name("attachment; filename=\"/\"", "http://h/y") == nil)
  }

  @Test func longNamesKeepTheirEnding() {
    let long = String(repeating: "€", count: 200) + ".pdf"
    let cut = SuggestedFileName(long)?.text ?? ""
    #expect(cut.utf8.count <= 255 && cut.utf8.count > 250 && cut.hasSuffix("€.pdf"))
    let ending = SuggestedFileName("a." + String(repeating: "x", count: 4000))?.text ?? ""
    #expect(ending.utf8.count == 255)
    let combined = SuggestedFileName("e" + String(repeating: "\u{301}", count: 5000))?.text ?? ""
    #expect(combined.utf8.count <= 255 && !combined.isEmpty)
  }
}

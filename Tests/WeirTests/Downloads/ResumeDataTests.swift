import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§8.3 Downloads: resume data as bytes")
struct ResumeDataTests {
  @Test func theyComeBackAsTheyWere() throws {
    for validator in [ResumeData.Validator.entityTag("\"a-b\""), .lastModified("Sun, 06 Nov 1994 08:49:37 GMT")] {
      for total in [10, nil] as [Int64?] {
        let data = try ResumeData.sample(total: total, validator: validator, headers: ["X-A": "b", "Accept": "*/*"])
        #expect(ResumeData(try #require(data.data)) == data)
      }
    }
  }

  @Test func theyHoldNoSecrets() throws {
    let data = try ResumeData.sample(
      url: "http://user:hunter2@127.0.0.1:1/file?page=1#part",
      headers: [
        "Authorization": "Bearer s3cret", "proxy-authorization": "Basic s3cret", "Cookie": "id=s3cret", "X-Kept": "yes",
        "Set-Cookie": "id=s3cret", "Range": "bytes=1-", "If-Range": "\"other\"",
      ])
    let text = String(decoding: try #require(data.data), as: UTF8.self)
    for word in ["s3cret", "hunter2", "user", "Authorization", "Cookie"] { #expect(!text.contains(word), "\(text)") }
    #expect(data.headers == ["X-Kept": "yes"])
    #expect(data.url.absoluteString == "http://127.0.0.1:1/file?page=1")
  }

  @Test func theRequestAsksForTheRest() throws {
    let request = try ResumeData.sample(offset: 7, headers: ["X-A": "b"]).rangeRequest
    #expect(request.allHTTPHeaderFields == ["X-A": "b", "Range": "bytes=7-", "If-Range": "\"v1\""])
    #expect(request.url?.absoluteString == "http://127.0.0.1:1/file")
  }

  @Test func onlyAGetCanBeResumed() throws {
    var request = URLRequest(url: try #require(URL(string: "http://h/")))
    func data() -> ResumeData? {
      ResumeData(request: request, validator: .entityTag("\"v\""), fileName: "f", offset: 1, total: nil)
    }
    #expect(data() != nil)
    request.httpMethod = "POST"
    #expect(data() == nil)
    request.httpMethod = "GET"
    request.httpBody = Data("x".utf8)
    #expect(data() == nil)
  }

  @Test("Whatever is made is read again; of a body that is whole there are none")
  func ofAWholeBody() throws {
    let request = URLRequest(url: try #require(URL(string: "http://h/")))
    for (offset, isSome) in [(9, true), (10, false), (11, false), (0, false)] as [(Int64, Bool)] {
      let data = ResumeData(
        request: request, validator: .entityTag("\"v\""), fileName: "download-00112233445566778899aabbccddeeff",
        offset: offset, total: 10)
      #expect((data != nil) == isSome)
      #expect(data?.data.flatMap { ResumeData($0) } == data)
    }
  }

  /// What a hostile or a mistaken keeper of the bytes may make of them.
  private static let changes: [(String, @Sendable (inout [String: Any]) -> Void)] = [
    ("format", { $0["format"] = "other" }), ("version 0", { $0["version"] = 0 }), ("version 2", { $0["version"] = 2 }),
    ("version text", { $0["version"] = "1" }), ("no file", { $0["file"] = nil }),
    ("path up", { $0["file"] = "../download-00112233445566778899aabbccddeeff" }),
    ("absolute path", { $0["file"] = "/etc/passwd" }), ("short name", { $0["file"] = "download-0011" }),
    ("upper case", { $0["file"] = "download-00112233445566778899AABBCCDDEEFF" }),
    ("NUL", { $0["file"] = "download-00112233445566778899aabbccddee\u{0}f" }),
    ("finished file", { $0["file"] = "Weir_download-00112233445566778899aabbccddeeff" }),
    ("offset 0", { $0["offset"] = 0 }), ("negative offset", { $0["offset"] = -5 }),
    ("huge offset", { $0["offset"] = 1e30 }), ("fraction", { $0["offset"] = 1.5 }),
    ("total behind offset", { $0["total"] = 4 }), ("negative total", { $0["total"] = -1 }),
    ("file URL", { $0["url"] = "file:///etc/passwd" }), ("no URL", { $0["url"] = "" }),
    ("URL without host", { $0["url"] = "http:///x" }), ("userinfo", { $0["url"] = "http://u:p@h/x" }),
    ("weak tag", { $0["entityTag"] = "W/\"v1\"" }), ("tag with a line end", { $0["entityTag"] = "\"a\r\nX: b\"" }),
    ("bare tag", { $0["entityTag"] = "v1" }), ("no validator", { $0["entityTag"] = nil }),
    ("two validators", { $0["lastModified"] = "Sun, 06 Nov 1994 08:49:37 GMT" }),
    (
      "no date",
      {
        $0["entityTag"] = nil
        $0["lastModified"] = "yesterday"
      }
    ),
    ("secret", { $0["headers"] = ["Authorization": "x"] }), ("range", { $0["headers"] = ["range": "bytes=0-"] }),
    ("header with a line end", { $0["headers"] = ["X": "a\r\nB: c"] }), ("bad name", { $0["headers"] = ["X Y": "a"] }),
    ("headers of another type", { $0["headers"] = ["a", "b"] }),
  ]

  @Test("Bytes that were not made here are refused", arguments: changes.map(\.0))
  func changed(_ name: String) throws {
    let good = try #require(try ResumeData.sample().data)
    var form = try #require(try JSONSerialization.jsonObject(with: good) as? [String: Any])
    #expect(ResumeData(try JSONSerialization.data(withJSONObject: form)) != nil, "the table starts from good ones")
    try #require(Self.changes.first { $0.0 == name }).1(&form)
    #expect(ResumeData(try JSONSerialization.data(withJSONObject: form)) == nil)
  }

  @Test func anyBytesAreReadWithoutATrap() throws {
    var random = SeededRandom(seed: 12)
    let good = Array(try #require(try ResumeData.sample(headers: ["X-A": "b"]).data))
    #expect(ResumeData(Data()) == nil)
    #expect(ResumeData(Data(count: ResumeData.sizeLimit + 1)) == nil)
    #expect(ResumeData(Data(String(repeating: "[", count: 100_000).utf8)) == nil)
    for round in 0..<3000 {
      var bytes = good
      for _ in 0...(round % 4) {
        let place = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: place)
        default: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
        }
      }
      guard let read = ResumeData(Data(bytes)) else { continue }
      // Whatever passes says what could have been said here.
      #expect(PartialFile.isName(read.fileName) && read.offset > 0 && ["http", "https"].contains(read.url.scheme))
    }
  }
}

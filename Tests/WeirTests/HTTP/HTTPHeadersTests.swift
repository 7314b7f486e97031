import Foundation
import Testing
import WeirHTTP

@testable import Weir

@Suite struct HTTPHeadersTests {
  @Test(arguments: [
    (HTTPHeader.accept("a"), "Accept: a"),
    (.acceptCharset("utf-8"), "Accept-Charset: utf-8"),
    (.acceptLanguage("en"), "Accept-Language: en"),
    (.acceptEncoding("gzip"), "Accept-Encoding: gzip"),
    (.authorization("Digest x"), "Authorization: Digest x"),
    (.authorization(username: "user", password: "pass:ü"), "Authorization: Basic dXNlcjpwYXNzOsO8"),
    (.authorization(bearerToken: "token"), "Authorization: Bearer token"),
    (.contentDisposition("form-data"), "Content-Disposition: form-data"),
    (.contentEncoding("gzip"), "Content-Encoding: gzip"),
    (.contentType("text/plain"), "Content-Type: text/plain"),
    (.userAgent("x/1"), "User-Agent: x/1"),
    (.websocketProtocol("chat"), "Sec-WebSocket-Protocol: chat"),
    (.defaultAcceptEncoding, "Accept-Encoding: gzip, deflate"),
  ])
  func makers(header: HTTPHeader, text: String) {
    #expect(header.description == text)
  }

  @Test func namesAreUniqueWithoutRegardToCase() {
    var headers: HTTPHeaders = ["a": "1", "B": "2", "A": "3"]
    #expect(headers.description == "A: 3\nB: 2")
    headers.add(name: "b", value: "4")
    headers.update(HTTPHeader(name: "c", value: "5"))
    #expect(headers.description == "A: 3\nb: 4\nc: 5")
    #expect(
      headers
        == HTTPHeaders([.init(name: "A", value: "3"), .init(name: "b", value: "4"), .init(name: "c", value: "5")]))
  }

  @Test(arguments: [
    ("accept", "Accept", true), ("accept", "ACCEPT", true), ("accept", "accep", false), ("[", "{", false),
    ("@", "`", false), ("ä", "Ä", false), ("x-1", "X-1", true),
  ])
  func sameName(left: String, right: String, isSame: Bool) {
    #expect(FieldSyntax.isSameName(left, right) == isSame)
  }

  @Test func lookUpIgnoresCaseAndNilRemoves() {
    var headers: HTTPHeaders = [.accept("a"), .contentType("b")]
    #expect(headers["ACCEPT"] == "a")
    #expect(headers.value(for: "content-type") == "b")
    #expect(headers["Other"] == nil)
    headers["accept"] = nil
    headers["Other"] = "c"
    headers.remove(name: "nothing")
    #expect(headers.description == "Content-Type: b\nOther: c")
    headers.remove(name: "OTHER")
    #expect(headers.dictionary == ["Content-Type": "b"])
  }

  @Test func sortsByLowerCasedName() {
    let headers: HTTPHeaders = ["b": "1", "C": "2", "a": "3"]
    #expect(headers.map(\.name) == ["b", "C", "a"])
    #expect(headers.sorted().map(\.name) == ["a", "b", "C"])
    #expect(headers != headers.sorted())
  }

  @Test func manyFields() {
    let names = (0..<5_000).map { "Name-\($0)" }
    let headers = HTTPHeaders((names + ["name-7"]).map { HTTPHeader(name: $0, value: "v") })
    #expect(headers.count == names.count)
    #expect(headers.map(\.name) == names.map { $0 == "Name-7" ? "name-7" : $0 })
    #expect(headers.sorted().first?.name == "Name-0")
  }

  @Test func takesDictionaries() {
    let headers = HTTPHeaders(["A": "1", "B": "2"])
    #expect(headers.sorted().description == "A: 1\nB: 2")
    #expect(headers.count == 2)
  }

  @Test(arguments: [
    (["en-001", "fr"], "en-001;q=1.0, fr;q=0.9"),
    (["a", "b", "c", "d", "e", "f", "g"], "a;q=1.0, b;q=0.9, c;q=0.8, d;q=0.7, e;q=0.6, f;q=0.5"),
    ([], ""),
  ])
  func qualityEncoding(languages: [String], value: String) {
    #expect(HTTPHeader.qualityEncoded(languages) == value)
  }

  @Test func defaultSet() {
    #expect(
      HTTPHeaders.makeDefault(languages: ["de"]).map(\.name) == ["Accept-Encoding", "Accept-Language", "User-Agent"])
    #expect(HTTPHeaders.makeDefault(languages: []).map(\.name) == ["Accept-Encoding", "User-Agent"])
    #expect(HTTPHeaders.default["user-agent"]?.hasSuffix(" Weir/\(WeirInfo.version)") == true)
    #expect(HTTPHeaders.default["accept-encoding"] == "gzip, deflate")
  }

  @Test func userAgent() {
    let version = OperatingSystemVersion(majorVersion: 6, minorVersion: 1, patchVersion: 2)
    let bundle: [String: Any] = [
      "CFBundleExecutable": "App", "CFBundleShortVersionString": "1.2", "CFBundleIdentifier": "org.example.app",
      "CFBundleVersion": "34",
    ]
    let system = "Linux 6.1.2"
    let library = "Weir/\(WeirInfo.version)"
    #expect(
      HTTPHeader.userAgentText(bundle: bundle, firstArgument: "/bin/x", version: version)
        == "App/1.2 (org.example.app; build:34; \(system)) \(library)")
    #expect(
      HTTPHeader.userAgentText(bundle: [:], firstArgument: "/usr/bin/service", version: version)
        == "service/Unknown (Unknown; build:Unknown; \(system)) \(library)")
    #expect(
      HTTPHeader.userAgentText(bundle: [:], firstArgument: nil, version: version)
        == "Unknown/Unknown (Unknown; build:Unknown; \(system)) \(library)")
    #expect(
      HTTPHeader.userAgentText(bundle: [:], firstArgument: "/bin/a\nb", version: version)
        == "Unknown/Unknown \(library)")
  }
}

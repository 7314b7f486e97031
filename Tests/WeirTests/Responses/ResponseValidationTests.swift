import Foundation
import Testing
import Weir

@Suite struct ResponseValidationTests {
  @Test(arguments: [(200, true), (299, true), (199, false), (300, false), (404, false)])
  func defaultStatusCodes(status: Int, isAcceptable: Bool) throws {
    let failure = ResponseValidation.failure(status: status, acceptable: ResponseValidation.defaultStatusCodes)
    #expect((failure == nil) == isAcceptable)
    if let failure { #expect(WeirError.responseValidationFailed(reason: failure).responseCode == status) }
  }

  @Test func statusCodesMayBeAnySequence() {
    #expect(ResponseValidation.failure(status: 404, acceptable: [200, 404]) == nil)
    #expect(ResponseValidation.failure(status: 200, acceptable: Set([204])) != nil)
    #expect(ResponseValidation.failure(status: 7, acceptable: sequence(first: 1) { $0 < 9 ? $0 + 2 : nil }) == nil)
  }

  @Test(
    arguments: [
      ("application/json", ["application/json"], true),
      ("application/json; charset=utf-8", ["application/json"], true),
      ("application/json", ["application/json;q=0.5"], true),
      (" Application/JSON ;x", ["application/json"], true),
      ("application/json", [" APPLICATION/json "], true),
      ("image/png", ["image/*"], true),
      ("image/png", ["*/png"], true),
      ("image/png", ["*/*"], true),
      ("image/png", ["*/jpeg"], false),
      ("image/png", ["text/*"], false),
      ("image/png", ["text/plain", "image/png"], true),
      ("image/png", [], false),
      ("image/png", ["image"], false),
      ("image/png", ["*"], false),
      ("image", ["image/*"], false),
      ("", ["text/plain"], false),
      ("nonsense", ["*/*"], true),
      ("text/", ["text/*"], false),
      ("/plain", ["*/plain"], false),
      ("image/*", ["image/png"], false),
      ("text/plain/x", ["text/plain"], false),
      (nil, ["*/*"], true),
      (nil, ["text/html", "*/*;q=0.1"], true),
      (nil, ["text/*"], false),
      (nil, [], false),
    ] as [(String?, [String], Bool)])
  func contentTypes(type: String?, acceptable: [String], isAcceptable: Bool) {
    let failure = ResponseValidation.failure(contentType: type, acceptable: acceptable, isBodyEmpty: false)
    #expect((failure == nil) == isAcceptable)
    #expect(ResponseValidation.failure(contentType: type, acceptable: acceptable, isBodyEmpty: true) == nil)
  }

  @Test func failuresListTheAcceptableTypesSorted() throws {
    let missing = try #require(
      ResponseValidation.failure(contentType: nil, acceptable: ["c/d", "a/b"], isBodyEmpty: false))
    guard case .missingContentType(["a/b", "c/d"]) = missing else {
      Issue.record("\(missing)")
      return
    }
  }

  @Test(
    "A type that is not acceptable is named without its parameters",
    arguments: [
      ("x/y; z=1", "x/y"), ("X/y", "X/y"), (" x/y ;charset=utf-8", "x/y"), ("x/y;a;b", "x/y"), ("nonsense", "nonsense"),
      ("", ""), (";", ""),
    ])
  func responseContentType(_ given: String, _ named: String) throws {
    let wrong = try #require(
      ResponseValidation.failure(contentType: given, acceptable: ["c/d", "a/b"], isBodyEmpty: false))
    guard case .unacceptableContentType(["a/b", "c/d"], named) = wrong else {
      Issue.record("\(wrong)")
      return
    }
  }

  @Test(
    arguments: [
      (nil, "text/html", true), (nil, nil, true), ("text/html", "text/html", true), ("text/html", "text/plain", false),
      ("text/html, text/*;q=0.5", "text/plain", true), ("a/b,c/d", "c/d", true), ("a/b", nil, false),
      ("", "a/b", false), ("a/b, */*;q=0.1", nil, true),
    ] as [(String?, String?, Bool)])
  func acceptField(accept: String?, type: String?, isAcceptable: Bool) {
    let failure = ResponseValidation.failure(contentType: type, accept: accept, isBodyEmpty: false)
    #expect((failure == nil) == isAcceptable)
    #expect(ResponseValidation.failure(contentType: type, accept: accept, isBodyEmpty: true) == nil)
  }

  @Test func contentTypeIsNotReadWhereAnyWillDo() {
    func unread() -> String? {
      Issue.record("read")
      return nil
    }
    #expect(ResponseValidation.failure(contentType: unread(), accept: nil, isBodyEmpty: false) == nil)
    #expect(ResponseValidation.failure(contentType: unread(), acceptable: ["*/*"], isBodyEmpty: false) == nil)
    #expect(ResponseValidation.failure(contentType: unread(), acceptable: [], isBodyEmpty: true) == nil)
  }

  @Test func downloads() {
    let file = URL(filePath: "/file")
    func failure(_ fileURL: URL?, size: Int64?) -> ResponseValidation.Failure? {
      ResponseValidation.failure(ofFile: fileURL, size: size) { isBodyEmpty in
        ResponseValidation.failure(contentType: "x/y", acceptable: ["a/b"], isBodyEmpty: isBodyEmpty)
      }
    }
    guard case .dataFileNil = failure(nil, size: nil) else {
      Issue.record("a download without a file")
      return
    }
    guard case .dataFileReadFailed(file) = failure(file, size: nil) else {
      Issue.record("a file whose size is not known")
      return
    }
    #expect(failure(file, size: 0) == nil)
    #expect(failure(file, size: 1) != nil)
  }
}

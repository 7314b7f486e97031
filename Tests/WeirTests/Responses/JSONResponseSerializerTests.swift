import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir

/// A way to the deprecated serializer that does not warn.
private protocol JSONDoor {
  func serialize(_ body: Data, response: LazyHTTPResponse) throws -> any Sendable
}

private struct Door: JSONDoor {
  @available(*, deprecated)
  func serialize(_ body: Data, response: LazyHTTPResponse) throws -> any Sendable {
    try JSONResponseSerializer().lazySerialization(nil, response, body, nil)
  }
}

@Suite struct JSONResponseSerializerTests {
  static func serialize(_ text: String, status: Int = 200) throws -> any Sendable {
    let door: any JSONDoor = Door()
    return try door.serialize(Data(text.utf8), response: try ResponseSerializerTests.response(status))
  }

  @Test func objects() throws {
    let value = try Self.serialize(#"{"a":[1,1.5,true,null,"x"],"b":{"c":2}}"#)
    let object = try #require(value as? [String: Any])
    let array = try #require(object["a"] as? [Any])
    #expect(array.count == 5)
    #expect(array[0] as? Int == 1)
    #expect(array[1] as? Double == 1.5)
    #expect(array[2] as? Bool == true)
    #expect(array[3] is NSNull)
    #expect(array[4] as? String == "x")
    #expect((object["b"] as? [String: Any])?["c"] as? Int == 2)
  }

  @Test func fragmentsAreAllowed() throws {
    #expect(try Self.serialize("1") as? Int == 1)
    #expect(try Self.serialize(#""x""#) as? String == "x")
  }

  @available(*, deprecated)
  @Test func handlersOfDataAndUploads() async throws {
    let server = try answering(okResponse(#"{"a": 7}"#))
    let session = Session()
    let values = Journal<Int?>()
    let note: @Sendable (WeirDataResponse<any Sendable>) -> Void = { response in
      values.append((response.value as? [String: Any])?["a"] as? Int)
    }
    session.request(server.url).responseJSON(completionHandler: note)
    session.upload(Data("x".utf8), to: server.url).responseJSON(completionHandler: note)
    await values.wait { $0.count == 2 }
    #expect(values.entries == [7, 7])
  }

  @Test func emptyBody() throws {
    #expect(try Self.serialize("", status: 204) is NSNull)
  }

  @Test(arguments: ["{", "1e400", "nonsense"])
  func failures(text: String) throws {
    let reason = try ResponseSerializerTests.reason { try Self.serialize(text) }
    guard case .jsonSerializationFailed = reason else {
      Issue.record("\(String(describing: reason))")
      return
    }
  }
}

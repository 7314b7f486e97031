import Foundation
import FoundationNetworking
import Weir
import WeirTestSupport

extension ClientCase {
  /// Requests whose metrics are compared between the engines.
  static let metrics: [ClientCase] = answered + refusedOrCut + sent

  private static func get(_ name: String, _ scripts: Script..., times: Int = 1, method: HTTPMethod = .get) -> ClientCase
  {
    ClientCase(name, scripts) { stage in
      let session = stage.session()
      for _ in 0..<times {
        stage.note(await session.request(stage.url, method: method).serializingString().response.result)
      }
    }
  }

  private static let chunked = "HTTP/1.1 200 OK|Transfer-Encoding: chunked||2|ok|0||"

  private static let answered = [
    get("success", .answers(ok)),
    get("five on a connection", .answers(ok), times: 5),
    get("head", .answers("HTTP/1.1 200 OK|Content-Length: 2||"), method: .head),
    get("chunked", .answers(chunked)),
    get("chunked with trailers", .answers("HTTP/1.1 200 OK|Transfer-Encoding: chunked||2|ok|0|A: b||")),
    get("no content", .answers("HTTP/1.1 204 No Content||")),
    get("not found", .answers("HTTP/1.1 404 No|Content-Length: 2||no")),
    get("server error", .answers("HTTP/1.1 500 No|Content-Length: 2||no")),
    get(
      "interim responses", .answers("HTTP/1.1 103 Hint|A: b||HTTP/1.1 103 Hint||HTTP/1.1 200 OK|Content-Length: 2||ok")),
    get("closing", .answers("HTTP/1.1 200 OK|Connection: close|Content-Length: 2||ok"), times: 2),
    get("up to the end", Script(.head, .send(WireCase.bytes("HTTP/1.1 200 OK||ok"))), times: 2),
    get("old", .answers("HTTP/1.0 200 OK|Content-Length: 2||ok")),
  ]

  private static let refusedOrCut = [
    get("cut body", Script(.head, .send(WireCase.bytes("HTTP/1.1 200 OK|Content-Length: 4||ok")))),
    get("cut chunks", Script(.head, .send(WireCase.bytes("HTTP/1.1 200 OK|Transfer-Encoding: chunked||2|ok|")))),
    get("cut head", Script(.head, .send("HTTP/1.1 200 OK\r\nA"))),
    get("no response", Script(.head)),
    get("reset", Script(.head, .reset)),
    get("no listener"),
    get("two lengths", .answers("HTTP/1.1 200 OK|Content-Length: 2|Content-Length: 3||ok")),
    get("another coding", .answers("HTTP/1.1 200 OK|Transfer-Encoding: gzip||ok")),
    get("not a response", Script(.head, .send("SSH-2.0-x\r\n\r\n"), .awaitClose)),
    ClientCase(
      "large head", .answers("HTTP/1.1 200 OK|A: \(String(repeating: "x", count: 5_000))|Content-Length: 2||ok")
    ) {
      stage in
      let session = stage.session { $0.maximumHeaderSize = 4096 }
      stage.note(await session.request(stage.url).serializingString().response.result)
    },
    ClientCase("silence", Script(.head, .awaitClose)) { stage in
      let session = stage.session { $0.timeoutIntervalForRequest = 0.2 }
      stage.note(await session.request(stage.url).serializingString().response.result)
    },
    ClientCase(
      "silence in the body", Script(.head, .send(WireCase.bytes("HTTP/1.1 200 OK|Content-Length: 4||ok")), .awaitClose)
    ) {
      stage in
      let session = stage.session { $0.timeoutIntervalForRequest = 0.2 }
      stage.note(await session.request(stage.url).serializingString().response.result)
    },
    ClientCase("deadline", Script(.head, .awaitClose)) { stage in
      let session = stage.session { $0.timeoutIntervalForResource = 0.2 }
      stage.note(await session.request(stage.url).serializingString().response.result)
    },
    get("stale connection", Script(.head, .send(WireCase.bytes(ok)), .head), .answers(ok), times: 2),
    ClientCase("lost post", Script(.head, .send(WireCase.bytes(ok)), .head)) { stage in
      let session = stage.session()
      stage.note(await session.request(stage.url).serializingString().response.result)
      stage.note(await session.request(stage.url, method: .post).serializingString().response.result)
    },
  ]

  private static let sent = [
    ClientCase("post", .answers(ok)) { stage in
      let request = stage.session().request(stage.url, method: .post, parameters: ["a": "b"])
      stage.note(await request.serializingString().response.result)
    },
    ClientCase("large upload", .answers(ok)) { stage in
      let request = stage.session().upload(Data(count: 300_000), to: stage.url)
      stage.note(await request.serializingString().response.result)
    },
    ClientCase("uploaded file", .answers(ok)) { stage in
      let file = try stage.directory.file("body", "from a file")
      let request = stage.session().upload(URL(fileURLWithPath: file), to: stage.url, method: .put)
      stage.note(await request.serializingString().response.result)
    },
    ClientCase("uploaded stream", .answers(ok)) { stage in
      let request = stage.session().upload(InputStream(data: Data("streamed".utf8)), to: stage.url)
      stage.note(await request.serializingString().response.result)
    },
  ]
}

import Testing
import WeirCompression
import WeirTestSupport

@testable import WeirGateway

@Suite struct DemoResponseTests {
  @Test(arguments: [
    ("/", 200, "The demo origin"), ("", 200, "The demo origin"), ("/status/503", 503, "status 503\n"),
    ("/status/200/", 200, "status 200\n"), ("/status/99", 400, "give a status"), ("/status/600", 400, "give a status"),
    ("/status/x", 400, "give a status"), ("/status", 404, "no such page"), ("/delay/soon", 400, "give a duration"),
    ("/delay/2m", 400, "give a duration"), ("/delay", 404, "no such page"), ("/nope", 404, "no such page"),
    ("/gzip/x", 404, "no such page"),
  ])
  func answersByPath(path: String, status: Int, text: String) {
    let response = DemoResponse(to: request(path), flakyVisits: 0)
    #expect(response.status == status)
    #expect(String(decoding: response.body, as: UTF8.self).hasPrefix(text))
    #expect(response.delay == .zero)
    #expect(response.fields == [HeaderRule(name: "Content-Type", value: "text/plain; charset=utf-8")])
  }

  @Test(arguments: [
    ("/delay/250ms", Duration.milliseconds(250)), ("/delay/1", .seconds(1)), ("/delay/1m", .seconds(60)),
  ])
  func delays(path: String, delay: Duration) {
    let response = DemoResponse(to: request(path), flakyVisits: 0)
    #expect(response.status == 200)
    #expect(response.delay == delay)
  }

  @Test func failsTwoTimesOfThree() {
    let statuses = (0..<6).map { DemoResponse(to: request("/flaky"), flakyVisits: $0).status }
    #expect(statuses == [503, 503, 200, 503, 503, 200])
  }

  @Test func compresses() throws {
    let response = DemoResponse(to: request("/gzip"), flakyVisits: 0)
    #expect(response.fields.contains(HeaderRule(name: "Content-Encoding", value: "gzip")))
    let text = try Compression.inflate(response.body, .gzip, limits: .unlimited)
    #expect(String(decoding: text, as: UTF8.self).hasPrefix("A weir steers a stream and measures it.\n"))
    #expect(text.count > response.body.count)
  }

  @Test func echoesAsJSON() {
    let request = DemoRequest(
      method: "POST", path: "/echo/x", query: "a=\"b\"",
      fields: [
        HeaderRule(name: "X-A", value: "1"), HeaderRule(name: "Host", value: "h"), HeaderRule(name: "x-a", value: "2"),
      ], body: Array("line\n\u{1}é".utf8) + [0xff])
    let response = DemoResponse(to: request, flakyVisits: 0)
    #expect(response.fields == [HeaderRule(name: "Content-Type", value: "application/json")])
    #expect(
      String(decoding: response.body, as: UTF8.self) == #"""
        {
          "method": "POST",
          "path": "/echo/x",
          "query": "a=\"b\"",
          "headers": {
            "X-A": "1, 2",
            "Host": "h"
          },
          "body": "line\n\u0001é�"
        }

        """#)
    #expect(
      String(decoding: self.request("/echo").json, as: UTF8.self)
        == "{\n  \"method\": \"GET\",\n  \"path\": \"/echo\",\n  \"query\": null,\n  \"headers\": {},\n  \"body\": \"\"\n}\n"
    )
  }

  private func request(_ path: String) -> DemoRequest {
    DemoRequest(method: "GET", path: path, query: nil, fields: [], body: [])
  }
}

import Foundation
import Testing
import Weir
import WeirTestSupport

/// Forms with files, read by another parser.
@Suite(.needs(.gunicorn)) struct BinUploadTests {
  private struct FormEcho: Decodable, Sendable {
    let form: [String: String]
    let files: [String: String]
    let headers: [String: String]
  }

  @Test(arguments: [MultipartFormData.encodingMemoryThreshold, 0])
  func formsArrive(threshold: UInt64) async throws {
    let client = try MeasuredSession()
    let request = client.session.upload(
      multipartFormData: { form in
        form.append(Data("two words & \"quotes\" = ü".utf8), withName: "field")
        form.append(
          Data("line one\r\nline two\r\n--x\r\n".utf8), withName: "file", fileName: "a.txt", mimeType: "text/plain")
      }, to: try await Bin.url("/post"), usingThreshold: threshold)
    let echo = try await request.validate().serializingDecodable(FormEcho.self).value
    #expect(echo.form == ["field": "two words & \"quotes\" = ü"])
    #expect(echo.files == ["file": "line one\r\nline two\r\n--x\r\n"])
    #expect(echo.headers["Content-Type"]?.hasPrefix("multipart/form-data; boundary=") == true)
  }

  @Test func dataArrives() async throws {
    let client = try MeasuredSession()
    let echo = try await client.session.upload(Data("some text".utf8), to: try await Bin.url("/anything"), method: .put)
      .validate().serializingDecodable(PlainEcho.self).value
    #expect(echo.method == "PUT" && echo.data == "some text")
    #expect(echo.headers["Content-Length"] == "9" && echo.headers["Expect"] == nil)
  }
}

import Foundation
import FoundationNetworking
import Weir
import WeirTestSupport

extension ClientCase {
  /// Uploads, downloads and streams that run to their end.
  static let kinds: [ClientCase] = uploads + downloads + streams

  private static let uploads = [
    ClientCase("an upload of bytes", .answers(ok)) { stage in
      let request = stage.session().upload(Data("hello".utf8), to: stage.url)
      stage.note(await request.validate().serializingString().response.result)
    },
    ClientCase("an upload of a file that is retried", .inTurn(busy, ok)) { stage in
      let file = try stage.directory.file("body", "from a file")
      let request = stage.session(retries()).upload(URL(fileURLWithPath: file), to: stage.url, method: .put)
      stage.note(await request.validate().serializingString().response.result)
    },
    ClientCase("an upload of a stream", .answers(ok)) { stage in
      let stream = InputStream(data: Data("streamed".utf8))
      let request = stage.session().upload(stream, to: stage.url, headers: ["Content-Length": "8"])
      stage.note(await request.serializingString().response.result)
    },
    ClientCase("an upload of a form", .answers(ok)) { stage in
      let request = stage.session().upload(
        multipartFormData: { $0.append(Data("value".utf8), withName: "name") }, to: stage.url)
      stage.note(await request.serializingString().response.result)
    },
    ClientCase("an upload of a file that is missing", .answers(ok)) { stage in
      let file = URL(fileURLWithPath: stage.directory.path + "/missing")
      stage.note(await stage.session().upload(file, to: stage.url).serializingString().response.result)
    },
  ]

  private static func destination(
    _ stage: ClientStage, _ name: String, _ options: DownloadRequest.Options = []
  ) -> DownloadRequest.Destination {
    let url = URL(fileURLWithPath: "\(stage.directory.path)/\(name)")
    return { _, _ in (url, options) }
  }

  private static let downloads = [
    ClientCase("a download", .answers(ok)) { stage in
      let request = stage.session().download(stage.url, to: destination(stage, "kept"))
      stage.note(await request.validate().serializingDownloadedFileURL().response.result)
    },
    ClientCase("a download that is retried", .inTurn(busy, ok)) { stage in
      let request = stage.session(retries()).download(
        stage.url, to: destination(stage, "kept", .removePreviousFile))
      stage.note(await request.validate().serializingString().response.result)
    },
    ClientCase("a download that has no place", .answers(ok)) { stage in
      let request = stage.session().download(stage.url, to: destination(stage, "missing/kept"))
      stage.note(await request.serializingDownloadedFileURL().response.result)
    },
    ClientCase(
      "a download that is resumed",
      Script(.head, .send(WireCase.bytes("HTTP/1.1 200 OK|ETag: \"a\"|Content-Length: 8||half")), .awaitClose),
      .answers("HTTP/1.1 206 Partial|ETag: \"a\"|Content-Range: bytes 4-7/8|Content-Length: 4||rest")
    ) { stage in
      let session = stage.session()
      let first = session.download(stage.url)
      let task = first.serializingData()
      try await stage.events.wait(for: "didWriteData")
      first.cancel(producingResumeData: true)
      stage.note(await task.response.result)
      let request = session.download(resumingWith: first.resumeData ?? Data(), to: destination(stage, "kept"))
      stage.note(await request.serializingString().response.result)
    },
  ]

  private static let chunkSeen = Gate()

  private static let streams = [
    ClientCase(
      "a stream of two chunks",
      Script(
        .head, .send(WireCase.bytes("HTTP/1.1 200 OK|Transfer-Encoding: chunked||5|hello|")), .wait(chunkSeen),
        .send(WireCase.bytes("6| world|0||")), .awaitClose)
    ) { stage in
      try await stage.drain(stage.session().streamRequest(stage.url).validate()) { _ in chunkSeen.open() }
    },
    ClientCase("a stream that is retried", .inTurn(busy, ok)) { stage in
      try await stage.drain(stage.session(retries()).streamRequest(stage.url).validate())
    },
    ClientCase("a stream that is not validated", .answers("HTTP/1.1 404 No|Content-Length: 2||no")) { stage in
      try await stage.drain(stage.session().streamRequest(stage.url).validate())
    },
    ClientCase("a stream that is cut", .once("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")) { stage in
      try await stage.drain(stage.session().streamRequest(stage.url))
    },
  ]
}

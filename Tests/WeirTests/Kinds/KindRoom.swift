import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import WeirTestSupport

@testable import Weir

/// A trial's own directories: for partial files, temporary files, and what it uploads or downloads to.
final class KindRoom: Sendable {
  /// Of a resumed download of this plan, before it is resumed.
  static func partialName(_ plan: KindPlan) -> String {
    let number = String(plan.seed, radix: 16)
    return "download-" + String(repeating: "0", count: 32 - number.count) + number
  }

  let directory: TemporaryDirectory
  /// Whether the file that goes with its upload was handed over.
  let hasGiven = Mutex(false)
  let fileManager: FileManager

  /// Where downloads are kept until they are complete.
  let partialDirectory: String

  /// - Parameter partialDirectory: nil: one of its own.
  init(sharing partialDirectory: String? = nil) throws {
    directory = try TemporaryDirectory()
    fileManager = RoomFileManager(URL(filePath: directory.path))
    self.partialDirectory = partialDirectory ?? "\(directory.path)/partial"
  }

  var source: URL { URL(filePath: "\(directory.path)/source") }
  var target: URL { URL(filePath: "\(directory.path)/target") }

  /// The names of files that stay when a trial is over.
  var left: Set<String> { Set([partialDirectory, formDirectory].flatMap(Self.names)) }

  var formDirectory: String { "\(directory.path)/weir/multipart.form.data" }

  static func names(_ directory: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
  }

  func writeSource(_ plan: KindPlan) -> URL {
    try? Data(KindBody.bytes(plan.requestSize)).write(to: source)
    return source
  }

  func give(_ file: URL) -> UploadRequest.Uploadable {
    hasGiven.withLock { $0 = true }
    return .file(file, shouldRemove: true)
  }

  /// The first half of what the plan's server has, as an earlier download left it.
  func resumeData(_ plan: KindPlan, _ url: String) -> Data {
    let offset = KindServer.offset(plan)
    try? FileManager.default.createDirectory(
      atPath: partialDirectory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let name = Self.partialName(plan)
    let path = "\(partialDirectory)/\(name)"
    _ = FileManager.default.createFile(
      atPath: path, contents: Data(KindBody.bytes(offset)), attributes: [.posixPermissions: 0o600])
    let data = try? ResumeData.sample(
      file: name, offset: Int64(offset), total: Int64(plan.responseSize), url: url)
    return data?.data ?? Data()
  }
}

/// Has temporary files in a place of its own.
private final class RoomFileManager: FileManager, @unchecked Sendable {
  private let directory: URL

  init(_ directory: URL) {
    self.directory = directory
    super.init()
  }

  override var temporaryDirectory: URL { directory }
}

extension KindPlan.Kind {
  /// The request, with a handler that tells how it ended; not resumed.
  func make(
    _ plan: KindPlan, _ session: Session, _ url: String, _ room: KindRoom,
    _ end: @escaping @Sendable (KindTrial.Ending) -> Void
  ) -> Request {
    let body = Data(KindBody.bytes(plan.requestSize))
    switch self {
    case .data: return session.request(url).ending(end)
    case .stream, .slowStream: return stream(session.streamRequest(url), end)
    case .uploadData: return session.upload(body, to: url).ending(end)
    case .uploadFile: return session.upload(room.writeSource(plan), to: url).ending(end)
    case .uploadTemporaryFile:
      let file = room.writeSource(plan)
      return session.upload(MadeUpload(url: url) { room.give(file) }).ending(end)
    case .uploadStream: return session.upload(InputStream(data: body), to: url).ending(end)
    case .uploadCompressed:
      let compressor = DeflateRequestCompressor(compressesUploads: true)
      return session.upload(body, to: url, interceptor: compressor).ending(end)
    case .multipartInMemory, .multipartOnDisk:
      let form = MultipartFormData(fileManager: room.fileManager)
      form.append(body, withName: "part")
      form.append(room.writeSource(plan), withName: "file", fileName: "source", mimeType: "text/plain")
      return session.upload(
        multipartFormData: form, to: url, usingThreshold: self == .multipartOnDisk ? 0 : .max,
        fileManager: room.fileManager
      ).ending(end)
    case .download, .downloadDecoded: return session.download(url).ending(end)
    case .downloadToPlace:
      let target = room.target
      return session.download(url, to: { _, _ in (target, .removePreviousFile) }).ending(end)
    case .downloadResumed: return session.download(resumingWith: room.resumeData(plan, url)).ending(end)
    }
  }

  private func stream(
    _ request: DataStreamRequest, _ end: @escaping @Sendable (KindTrial.Ending) -> Void
  ) -> DataStreamRequest {
    let chunks = Journal<Data>()
    let isSlow = self == .slowStream
    return request.validate().responseStream(on: DispatchQueue(label: "reader")) { stream in
      switch stream.event {
      case .stream(.success(let data)):
        if isSlow { letPass(0.000_2) }
        chunks.append(data)
      case .complete(let completion):
        end(KindTrial.Ending(error: completion.error, body: chunks.entries.reduce(Data(), +)))
      }
    }
  }
}

extension DataRequest {
  fileprivate func ending(_ end: @escaping @Sendable (KindTrial.Ending) -> Void) -> Self {
    validate().response { end(KindTrial.Ending(error: $0.error, body: $0.data)) }
  }
}

extension DownloadRequest {
  fileprivate func ending(_ end: @escaping @Sendable (KindTrial.Ending) -> Void) -> Self {
    validate().response {
      end(KindTrial.Ending(error: $0.error, fileURL: $0.fileURL, resumeData: $0.resumeData))
    }
  }
}

import Foundation
import Synchronization
import Testing
import WeirIO
import WeirTLS
import WeirTestSupport

@testable import WeirGateway

@Suite(.disabled(if: !Tool.openssl.isInstalled, "openssl is not installed")) struct TLSFilesWatchTests {
  private let certificates: TestCertificates
  private let directory: TemporaryDirectory
  private let files: TLSFiles

  /// The events that were reported.
  private final class Reports: Sendable {
    let events = Mutex<[TLSFilesWatch.Event]>([])
    func take() -> [TLSFilesWatch.Event] {
      events.withLock { events in
        defer { events = [] }
        return events
      }
    }
  }
  private let reports = Reports()

  init() async throws {
    certificates = try await WebTLSTests.certificates.value
    directory = try TemporaryDirectory()
    files = Self.files(in: directory)
    try install(certificates.server)
  }

  private static func files(in directory: TemporaryDirectory) -> TLSFiles {
    TLSFiles(certificates: [.init(certificate: "\(directory.path)/it.pem", key: "\(directory.path)/it.key")])
  }

  /// Each file is replaced by another, as tools that renew certificates do.
  private func install(_ pair: TestCertificates.Pair) throws {
    try replace("it.pem", String(contentsOfFile: pair.certificate, encoding: .utf8))
    try replace("it.key", String(contentsOfFile: pair.key, encoding: .utf8))
  }

  private func replace(_ name: String, _ text: String) throws {
    try text.write(toFile: "\(directory.path)/\(name)", atomically: true, encoding: .utf8)
  }

  private func watch(_ held: HeldFiles = HeldFiles()) throws -> TLSFilesWatch {
    try TLSFilesWatch(files, mark: { held.mark($0) }) { [reports] event in
      reports.events.withLock { $0.append(event) }
    }
  }

  @Test func newFilesAreFollowed() throws {
    let watch = try watch()
    let first = watch.source.current
    watch.look()
    #expect(watch.source.current === first && reports.take() == [])
    try install(certificates.wrongHost)
    watch.look()
    #expect(reports.take() == [.followed])
    #expect(watch.source.current.certificates.map(\.name) == ["weir.example"])
    let second = watch.source.current
    try install(certificates.wrongHost)
    watch.look()
    #expect(watch.source.current === second && reports.take() == [], "the same bytes in other files")
  }

  @Test func whatDoesNotFitIsRefusedOnce() throws {
    let watch = try watch()
    let first = watch.source.current
    try replace("it.pem", String(contentsOfFile: certificates.wrongHost.certificate, encoding: .utf8))
    for _ in 0..<2 { watch.look() }
    let text = "the key does not belong to the certificate; give the key that the certificate was made with"
    #expect(reports.take() == [.refused("\"\(directory.path)/it.key\": \(text)")])
    try FileManager.default.removeItem(atPath: "\(directory.path)/it.key")
    for _ in 0..<2 { watch.look() }
    #expect(reports.take() == [.refused("\"\(directory.path)/it.key\" can't be read: No such file or directory")])
    try replace("it.pem", "")
    try replace("it.key", "")
    for _ in 0..<2 { watch.look() }
    let reason = "the certificate file is not PEM; convert it with 'openssl x509'"
    #expect(reports.take() == [.refused("\"\(directory.path)/it.pem\": \(reason)")])
    try replace("it.pem", String(repeating: "a", count: TLSFiles.maximumFileBytes + 1))
    for _ in 0..<2 { watch.look() }
    #expect(reports.take() == [.refused("\"\(directory.path)/it.pem\" is larger than 1 MiB")])
    #expect(watch.source.current === first)
    // The second of the two files comes, and the pair is whole.
    try install(certificates.wrongHost)
    watch.look()
    #expect(reports.take() == [.followed])
  }

  @Test func looksComeByThemselves() async throws {
    let watch = try watch()
    watch.start(every: .milliseconds(5))
    try install(certificates.wrongHost)
    try await eventually("the new certificate is there") {
      watch.source.current.certificates.map(\.name) == ["weir.example"]
    }
    watch.stop()
  }

  /// As many watches as would block all threads of Swift's tasks.
  @Test func aFileSystemThatHangsHoldsUpNoTask() async throws {
    let held = HeldFiles()
    let watches = try (0...ProcessInfo.processInfo.activeProcessorCount).map { _ in try watch(held) }
    held.hold(files.paths)
    for watch in watches { watch.start(every: .milliseconds(5)) }
    #expect(await soon { held.waitingCount == watches.count })
    try install(certificates.wrongHost)
    // Each has one look at a time, and a reload with other files does not wait for it.
    try await letPass(0.05)
    #expect(held.waitingCount == watches.count)
    let other = try TemporaryDirectory()
    for (from, to) in [(certificates.server.certificate, "it.pem"), (certificates.server.key, "it.key")] {
      try FileManager.default.copyItem(atPath: from, toPath: "\(other.path)/\(to)")
    }
    watches[0].follow(try watches[0].prepare(Self.files(in: other)))
    watches[0].stop()
    held.release()
    #expect(
      await soon {
        watches.dropFirst().allSatisfy { $0.source.current.certificates.map(\.name) == ["weir.example"] }
      })
    for watch in watches { watch.stop() }
    #expect(await soon { held.waitingCount == 0 })
    // The look that began before the reload has undone nothing.
    #expect(watches[0].source.current.certificates.map(\.name) == ["localhost"])
  }

  @Test func otherFilesAreFollowed() throws {
    let watch = try watch()
    let first = watch.source.current
    let other = try TemporaryDirectory()
    let problem = try #require(throws: TLSFilesProblem.self) { try watch.prepare(Self.files(in: other)) }
    #expect(problem.file == 0)
    #expect(watch.source.current === first)
    // The refused files are not those that are looked at.
    try install(certificates.wrongHost)
    watch.look()
    #expect(reports.take() == [.followed])
    for (from, to) in [(certificates.server.certificate, "it.pem"), (certificates.server.key, "it.key")] {
      try FileManager.default.copyItem(atPath: from, toPath: "\(other.path)/\(to)")
    }
    watch.follow(try watch.prepare(Self.files(in: other)))
    #expect(watch.source.current.certificates.map(\.name) == ["localhost"])
    try install(certificates.server)
    watch.look()
    #expect(reports.take() == [])
  }

  @Test func theStartNeedsGoodFiles() throws {
    try replace("it.key", String(contentsOfFile: certificates.wrongHost.key, encoding: .utf8))
    let problem = try #require(throws: TLSFilesProblem.self) { _ = try watch() }
    #expect(problem.file == 1)
  }
}
